// Folded: the value that a function carries from element to element (scan, reduce).
#pragma once

#include <optional>
#include <string>

#include "compute/function.h"
#include "engine/state.h"

namespace penstock {

// Structure and dtypes of the value stay as they were in the beginning; shapes may change.
class Folded {
 public:
  // `stage` is for errors and outlives this.
  Folded(const char* stage, Element initial);

  // Calls function(value, element) and returns its result as it is. Throws what the function
  // raised. When the call was interrupted, the next one does it again, whatever element it is
  // given.
  Element Call(Function& function, const CallInfo& info, Element element);
  bool interrupted() const { return pending_.rows > 0; }
  // Takes a new value: the first leaves of `result`. Throws when it is of another kind.
  void Set(const Structure* structure, const Element& result);
  const Element& value() const { return value_; }

  // A value with opaque objects cannot be written down.
  bool opaque() const { return opaque_; }
  void VisitState(StateVisitor& visitor);

 private:
  const char* stage_;
  const ElementSpec initial_;
  Element value_;
  Block pending_;  // the arguments of a call that was interrupted
  bool opaque_ = false;
};

}  // namespace penstock
