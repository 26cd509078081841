// The input that the workers of a parallel map pull from in turn.
#pragma once

#include <exception>
#include <new>
#include <utility>

#include "pipeline/delivered.h"
#include "pipeline/iterator.h"
#include "pipeline/out_of_memory.h"
#include "pipeline/state.h"
#include "runtime/clock.h"

namespace penstock {

// Used by one thread at a time.
class SharedInput final {
 public:
  struct Rows {
    Block block;
    int64_t position = 0;  // of the input's step that it begins with
    StateBlob state;       // of the input at `position`, when one was taken
    bool halted = false;   // memory ran out: there are no rows, and none come behind them
  };

  explicit SharedInput(IteratorPtr input) : input_(std::move(input)) {}

  // Before the first pull: so many steps behind a state of the input.
  void StartAt(int64_t steps, StateBlob blob) {
    to_discard_ = steps;
    start_blob_ = std::move(blob);
  }
  // Steps that were delivered before the state was saved, ahead of others.
  void Drop(StepRuns delivered) { to_drop_ = std::move(delivered); }
  void Reset() { input_.reset(); }

  // False when there is nothing more to do.
  bool Pull(int64_t most, Rows& pulled) {
    try {
      return DoPull(most, pulled);
    } catch (const std::bad_alloc&) {
      return pulled.halted = true;
    }
  }

  // Whether two pulls in a row took long: one may because its thread did.
  bool slow() const { return slow_pulls_ >= 2; }

 private:
  static constexpr int64_t kSlowPullNs = 1'000'000;

  bool DoPull(int64_t most, Rows& pulled) {
    Block& block = pulled.block;
    if (!std::exchange(restored_, true)) {
      try {
        RestoreState(*input_, start_blob_);
      } catch (const Error& error) {
        block.error = error;
        block.end = true;
        return true;
      }
    }
    if (to_discard_ > 0) {
      if (auto error = input_->Discard(to_discard_)) return pulled.halted = EndsRun(*error);
    }
    for (;;) {
      pulled.position = position_;
      pulled.state = nullptr;
      if (clock_.Due()) pulled.state = clock_.Take(*input_);
      const int64_t start = NowNs();
      block = input_->NextBlock(to_drop_.empty() ? most : 1);
      slow_pulls_ = NowNs() - start > kSlowPullNs ? slow_pulls_ + 1 : 0;
      if (block.error && EndsRun(*block.error)) {
        // What came before it is still delivered; the input tells it again to whoever pulls next.
        if (block.rows == 0) return pulled.halted = true;
        block.error.reset();
      }
      if (block.error && block.error->transient()) return false;
      position_ += block.rows + block.error.has_value();
      if (to_drop_.empty()) return true;
      if (to_drop_.PassRow(pulled.position, block)) pulled.state = nullptr;
      if (block.rows > 0 || block.last()) return true;
    }
  }

  IteratorPtr input_;
  bool restored_ = false;
  int64_t to_discard_ = 0;
  int64_t position_ = 0;    // steps
  int64_t slow_pulls_ = 0;  // in a row
  StateBlob start_blob_;
  StepRuns to_drop_;
  MarkClock clock_;
};

}  // namespace penstock
