// Limits how many calls run concurrently; the limit may change at run time.
#pragma once

#include <atomic>

#include "runtime/wait.h"

namespace penstock {

class CallTurns {
 public:
  explicit CallTurns(CancelToken cancel) : cancel_(std::move(cancel)), watch_(cancel_, ended_) {}

  // Waits until fewer than `width()` calls run; the caller must call Leave afterwards.
  template <typename Width>
  WaitStatus Enter(Width width) {
    return WaitUntil(ended_, cancel_, [&] {
      int calls = calls_.load(std::memory_order_relaxed);
      while (calls < width()) {
        if (calls_.compare_exchange_weak(calls, calls + 1, std::memory_order_relaxed)) return true;
      }
      return false;
    });
  }

  void Leave() {
    calls_.fetch_sub(1, std::memory_order_relaxed);  // a counter; publishes nothing
    ended_.NotifyOne();
  }

  // The number of running calls; relaxed: an estimate for other threads.
  int running() const { return calls_.load(std::memory_order_relaxed); }

  // Holds a turn while alive, unless the run ended before one was free.
  class Turn {
   public:
    template <typename Width>
    Turn(CallTurns& turns, Width width) : turns_(turns), status_(turns.Enter(width)) {}
    ~Turn() {
      if (status_ == WaitStatus::kReady) turns_.Leave();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    WaitStatus status() const { return status_; }

   private:
    CallTurns& turns_;
    const WaitStatus status_;
  };

  // Call when the width has changed.
  void Changed() { ended_.NotifyAll(); }

 private:
  const CancelToken cancel_;
  EventCount ended_;  // notified when a call has ended
  CancelToken::Watch watch_;
  std::atomic<int> calls_{0};  // currently running; at most the width
};

}  // namespace penstock
