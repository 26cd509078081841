// A state that an iterator takes up when it is first pulled, in the thread that pulls.
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
  // The position is `steps` steps after `state`, which the iterator takes up at the first pull.
  void Set(int64_t steps, StateBlob state) {
    to_discard_ = steps;
    state_ = std::move(state);
  }

  // Whether the iterator is where it was left.
  bool done() const { return restored_ && to_discard_ == 0; }
  // Before each pull. After a transient error it goes on with the next call; after another one
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
      if (error.kind() == ErrorKind::kInterrupted) {  // half of it is restored
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
