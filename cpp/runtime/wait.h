// WaitUntil: the only way in which the engine waits for a condition.
#pragma once

#include <algorithm>

#include "runtime/activity.h"
#include "runtime/blocking.h"
#include "runtime/cancel.h"
#include "runtime/clock.h"
#include "runtime/event_count.h"

namespace penstock {

enum class WaitStatus { kReady, kCancelled, kInterrupted, kTimeout };

namespace internal {

inline constexpr MonoTime kSignalSliceNs = 100'000'000;  // maximum delay of noticing a signal

// One PrepareWait with its CancelWait or Wait, even if a predicate or a hook throws.
class PreparedWait final {
 public:
  explicit PreparedWait(EventCount& event) : event_(event), key_(event.PrepareWait()) {}
  ~PreparedWait() {
    if (armed_) event_.CancelWait();
  }
  PreparedWait(const PreparedWait&) = delete;
  PreparedWait& operator=(const PreparedWait&) = delete;

  EventCount::Wake Sleep(MonoTime deadline) {
    armed_ = false;
    return event_.Wait(key_, deadline);
  }

 private:
  EventCount& event_;
  uint32_t key_;
  bool armed_ = true;
};

}  // namespace internal

// Waits until ready() is true, the token is cancelled, the deadline has passed, or the thread's
// BlockingHook ends the wait. ready() may do the work itself (`ring.try_pop(x)`): after it has
// returned true, it is not called again. From the second call on, it runs without the foreign lock.
// ready() takes precedence over a cancel, so that finished work can be drained.
//
// Why a thread without a hook, or with one that nothing interrupts, needs no polling: the thread
// that makes ready() true notifies `event` afterwards, and a Watch(cancel, event), alive during the
// call, does the same for Cancel. Both changes are checked after PrepareWait, so EventCount's
// argument covers both. The caller must provide that Watch.
template <class Ready>
WaitStatus WaitUntil(EventCount& event, const CancelToken& cancel, MonoTime deadline, Ready ready) {
  if (ready()) return WaitStatus::kReady;
  BlockingHook* const hook = GetBlockingHook();
  const bool watches = hook != nullptr && hook->Interruptible();
  for (;;) {
    EventCount::Wake wake;
    {
      internal::PreparedWait wait(event);
      if (ready()) return WaitStatus::kReady;
      if (cancel.cancelled()) return WaitStatus::kCancelled;
      MonoTime until = deadline;
      if (watches || deadline != kNoDeadline) {
        const MonoTime now = NowNs();
        if (now >= deadline) return WaitStatus::kTimeout;
        if (watches) until = std::min(deadline, now + internal::kSignalSliceNs);
      }
      if (hook != nullptr) hook->BeforeWait();
      const Sleeps sleeps;
      wake = wait.Sleep(until);
    }
    // Outside the prepared wait: Interrupted() may run signal handlers.
    if (wake != EventCount::Wake::kNotified && watches && hook->Interrupted()) {
      return WaitStatus::kInterrupted;
    }
  }
}

template <class Ready>
WaitStatus WaitUntil(EventCount& event, const CancelToken& cancel, Ready ready) {
  return WaitUntil(event, cancel, kNoDeadline, ready);
}

// Waits for something that is certain to happen (the end of a cancelled thread): nothing ends the
// wait early. Releases the foreign lock; a signal stays pending for its owner.
template <class Ready>
void WaitUninterrupted(EventCount& event, Ready ready) {
  if (ready()) return;
  BlockingHook* const hook = GetBlockingHook();
  for (;;) {
    internal::PreparedWait wait(event);
    if (ready()) return;
    if (hook != nullptr) hook->BeforeWait();
    wait.Sleep(kNoDeadline);
  }
}

}  // namespace penstock
