// Limits how many calls run at the same time; the limit may change meanwhile.
#pragma once

#include <atomic>

#include "runtime/wait.h"

namespace penstock {

class CallTurns {
 public:
  explicit CallTurns(CancelToken cancel) : cancel_(std::move(cancel)), watch_(cancel_, ended_) {}

  // Waits until fewer than `width()` calls run; the caller gives its turn back with Leave.
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
    calls_.fetch_sub(1, std::memory_order_relaxed);  // a count: it publishes nothing
    ended_.NotifyOne();
  }

  // The number of running calls; relaxed: an estimate for other threads.
  int running() const { return calls_.load(std::memory_order_relaxed); }

  // Holds a turn for as long as it lives, unless the run ended before there was one.
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

  // To be called when the width has changed.
  void Changed() { ended_.NotifyAll(); }

 private:
  const CancelToken cancel_;
  EventCount ended_;  // a call has
  CancelToken::Watch watch_;
  std::atomic<int> calls_{0};  // that run now; at most the width
};

}  // namespace penstock
