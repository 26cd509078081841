// Folded: the value that scan and reduce carry from element to element.
#pragma once

#include <optional>
#include <string>

#include "compute/function.h"
#include "engine/state.h"

namespace penstock {

// The structure and dtypes of the value never change; shapes may.
class Folded {
 public:
  // `stage` is for errors and outlives this.
  Folded(const char* stage, Element initial);

  // Calls function(value, element) and returns its result. Throws the error it raised. If the call
  // was interrupted, the next call repeats it and ignores its own element.
  Element Call(Function& function, const CallInfo& info, Element element);
  bool interrupted() const { return pending_.rows > 0; }
  // Replaces the value by the first leaves of `result`. Throws if their kind differs.
  void Set(const Structure* structure, const Element& result);
  const Element& value() const { return value_; }

  // A value with opaque objects cannot be saved.
  bool opaque() const { return opaque_; }
  void VisitState(StateVisitor& visitor);

 private:
  const char* stage_;
  const ElementSpec initial_;
  Element value_;
  Block pending_;  // the arguments of an interrupted call
  bool opaque_ = false;
};

}  // namespace penstock
