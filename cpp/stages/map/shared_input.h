// The input that the workers of a parallel map pull from in turn.
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
    Block block;           // perhaps with a transient error: the rest comes with the next pull
    int64_t position = 0;  // of the input's step that it begins with
    StateBlob state;       // of the input at `position`, when one was taken
    int64_t pull_ns = 0;   // how long the input took
    bool halted = false;   // memory ran out: there are no rows, and none will come
  };

  // `joins`: small rows that come one by one may be pulled together, further ahead than one by one:
  // where no Python runs for them.
  SharedInput(IteratorPtr input, bool joins) : input_(std::move(input)), joins_(joins) {}

  // Before the first pull: begins `steps` steps after a state of the input.
  void StartAt(int64_t steps, StateBlob blob) { restore_.Set(steps, std::move(blob)); }
  // Steps that were delivered before the state was saved, ahead of others.
  void Drop(StepRuns delivered) { to_drop_ = std::move(delivered); }
  // Waits, without the foreign lock, for the thread that holds the input, which may wait upstream.
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

  // `now`: the time, or 0 if the pull is not timed.
  void Pull(int64_t most, MonoTime now, Rows& pulled) {
    try {
      DoPull(most, now, pulled);
    } catch (const std::bad_alloc&) {
      pulled.halted = true;
    }
  }

  // Whether two pulls in a row took long: a single one may only because its thread was interrupted.
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
        // What came before it is still delivered; the input reports it again to whoever pulls next.
        if (block.rows == 0) {
          pulled.halted = true;
          return;
        }
        block.error.reset();
      }
      // A transient error is no step: it comes again to whoever pulls next, or is over.
      std::optional<Error> transient;
      if (block.error && block.error->transient()) transient.swap(block.error);
      position_ += block.rows + block.error.has_value();
      if (!to_drop_.empty() && to_drop_.PassRow(pulled.position, block)) pulled.state = nullptr;
      if (transient) block.error = std::move(transient);
      if (block.rows > 0 || block.last()) return;
    }
  }

  // What came last time and was left, or what comes next. Gives the time after it, or 0 as it was.
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

  // Adds small rows that come one by one, as long as they come quickly: the cost of handing them on
  // is then paid once for all of them.
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
  int64_t slow_pulls_ = 0;  // in a row
  StepRuns to_drop_;
  MarkClock clock_;
  std::optional<Block> next_;  // of the input, which is ahead of position_ by it
};

}  // namespace penstock
