// A state that is restored at the first pull, in the pulling thread.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "data/error.h"
#include "engine/iterator.h"
#include "engine/state.h"

namespace penstock {

// Used by one thread at a time.
class DelayedRestore final {
 public:
  // The position is `steps` steps after `state`. The iterator restores it at the first pull.
  void Set(int64_t steps, StateBlob state) {
    to_discard_ = steps;
    state_ = std::move(state);
  }

  // Whether the iterator has reached the saved position.
  bool done() const { return restored_ && to_discard_ == 0; }
  // Call before each pull. After a transient error, the next call continues. After any other error
  // there is nothing to pull.
  std::optional<Error> Prepare(Iterator& iterator) {
    if (!restored_) {
      if (auto error = Restore(iterator)) return error;
    }
    if (to_discard_ > 0) return iterator.Discard(to_discard_);
    return std::nullopt;
  }

 private:
  std::optional<Error> Restore(Iterator& iterator) {
    if (failure_) return failure_;
    try {
      RestoreState(iterator, state_);
      restored_ = true;
      return std::nullopt;
    } catch (const Error& error) {
      failure_ = error;
      if (error.kind() == ErrorKind::kInterrupted) {  // only partly restored
        failure_ = Error(ErrorKind::kRuntime,
                         "{}: a KeyboardInterrupt came while the state was restored; make a new "
                         "iterator and give it the state again",
                         iterator.name());
      }
      return error;
    }
  }

  int64_t to_discard_ = 0;
  StateBlob state_;
  bool restored_ = false;
  std::optional<Error> failure_;
};

}  // namespace penstock
