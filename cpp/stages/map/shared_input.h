// The input that the workers of a parallel map share; they pull it alternately.
#pragma once

#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "engine/delayed_restore.h"
#include "engine/iterator.h"
#include "engine/out_of_memory.h"
#include "engine/state.h"
#include "runtime/activity.h"
#include "runtime/blocking.h"
#include "runtime/clock.h"
#include "stages/map/delivered.h"

namespace penstock {

// Used by the thread that holds it.
class SharedInput final {
 public:
  struct Rows {
    Block block;           // perhaps with a transient error: the next pull returns the rest
    int64_t position = 0;  // of the first input step
    StateBlob state;       // of the input at `position`, if one was taken
    int64_t pull_ns = 0;   // time spent in the input
    bool halted = false;   // memory ran out: there are no more rows
  };

  // `joins`: small rows that arrive individually may be pulled together, and thereby further ahead.
  // Set it only if no Python runs for them.
  SharedInput(IteratorPtr input, bool joins) : input_(std::move(input)), joins_(joins) {}

  // Before the first pull: starts `steps` steps after a state of the input.
  void StartAt(int64_t steps, StateBlob blob) { restore_.Set(steps, std::move(blob)); }
  // Skips steps that were delivered out of order before the state was saved.
  void Drop(StepRuns delivered) { to_drop_ = std::move(delivered); }
  // Waits, without the foreign lock, for the thread that holds the input, which may be waiting
  // upstream.
  std::unique_lock<std::mutex> Hold() {
    std::unique_lock token(mutex_, std::try_to_lock);
    if (!token) {
      LeaveForeignLock();
      const Sleeps sleeps;
      token.lock();
    }
    return token;
  }
  // Destroys the input unless a thread holds it.
  void TryReset() {
    std::unique_lock token(mutex_, std::try_to_lock);
    if (token) input_.reset();
  }

  // `now`: the current time, or 0 if the pull is not timed.
  void Pull(int64_t most, MonoTime now, Rows& pulled) {
    try {
      DoPull(most, now, pulled);
    } catch (const std::bad_alloc&) {
      pulled.halted = true;
    }
  }

  // Whether two consecutive pulls were slow. A single one may be slow only because its thread was
  // interrupted.
  bool slow() const { return slow_pulls_ >= 2; }

 private:
  static constexpr int64_t kSlowPullNs = 1'000'000;
  static constexpr int64_t kTogetherNs = 100'000;
  static constexpr int64_t kTogetherBytes = 64 << 10;

  void DoPull(int64_t most, MonoTime now, Rows& pulled) {
    Block& block = pulled.block;
    if (ended_) {
      block.end = true;
      return;
    }
    if (auto error = restore_.Prepare(*input_)) {
      pulled.halted = EndsRun(*error);
      block.end = ended_ = !error->transient();
      block.error = std::move(error);
      return;
    }
    for (;;) {
      pulled.position = position_;
      pulled.state = nullptr;
      if (!next_ && now != 0 && clock_.Due(now)) {
        pulled.state = clock_.Take(*input_);
        now = NowNs();
      }
      now = PullBlock(to_drop_.empty() ? most : 1, now, pulled);
      if (joins_ && to_drop_.empty()) now = Join(most, now, pulled);
      if (block.error && EndsRun(*block.error)) {
        // Rows before it are still delivered; the input reports the error again at the next pull.
        if (block.rows == 0) {
          pulled.halted = true;
          return;
        }
        block.error.reset();
      }
      // A transient error is not a step: it is repeated at the next pull, or has passed.
      std::optional<Error> transient;
      if (block.error && block.error->transient()) transient.swap(block.error);
      position_ += block.rows + block.error.has_value();
      if (!to_drop_.empty() && to_drop_.PassRow(pulled.position, block)) pulled.state = nullptr;
      if (transient) block.error = std::move(transient);
      if (block.rows > 0 || block.last()) return;
    }
  }

  // Pulls the block left from last time, or the next one. Returns the time after it, or 0 if
  // `start` is 0.
  MonoTime PullBlock(int64_t most, MonoTime start, Rows& pulled) {
    if (next_) {
      pulled.block = *std::exchange(next_, std::nullopt);
      return start;
    }
    pulled.block = input_->NextBlock(most);
    if (start == 0) return start;
    const MonoTime end = NowNs();
    const int64_t took = end - start;
    pulled.pull_ns += took;
    slow_pulls_ = took > kSlowPullNs ? slow_pulls_ + 1 : 0;
    return end;
  }

  // Appends small rows that arrive individually, as long as they arrive quickly, to amortize the
  // cost of passing them on.
  MonoTime Join(int64_t most, MonoTime now, Rows& pulled) {
    Block& block = pulled.block;
    if (block.stacked() || block.rows >= most) return now;
    if (now == 0) now = NowNs();
    auto bytes = static_cast<int64_t>(block.footprint());
    while (block.rows > 0 && block.rows < most && !block.last() && bytes < kTogetherBytes &&
           pulled.pull_ns < kTogetherNs) {
      Rows more;
      now = PullBlock(most - block.rows, now, more);
      pulled.pull_ns += more.pull_ns;
      bytes += static_cast<int64_t>(more.block.footprint());
      if (!block.Concat(more.block)) {
        next_ = std::move(more.block);
        break;
      }
    }
    return now;
  }

  std::mutex mutex_;
  IteratorPtr input_;
  const bool joins_;
  DelayedRestore restore_;
  bool ended_ = false;      // it could not be restored
  int64_t position_ = 0;    // steps
  int64_t slow_pulls_ = 0;  // consecutive
  StepRuns to_drop_;
  MarkClock clock_;
  std::optional<Block> next_;  // already pulled, but not counted in position_
};

}  // namespace penstock
