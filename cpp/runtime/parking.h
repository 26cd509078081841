// Parking: a thread that has been idle for long ends, and another thread continues its work later.
#pragma once

#include <atomic>

#include "runtime/blocking.h"
#include "runtime/clock.h"
#include "runtime/platform.h"
#include "runtime/wait.h"

namespace penstock {

// How long a thread waits before it leaves; ten seconds by default. Does not affect current waits.
MonoTime ParkingPatience();
void SetParkingPatience(MonoTime nanoseconds);

// One thread works at a time; another one notices when there is work again.
//
//   worker                                    the other
//   if (Wait(event, ..., ready) == kTimeout)  change the state; Notify `event`
//     return permanently                      if (Replace()) start another worker
//
// Why no work is lost (Dekker with two fences, as in EventCount). The worker does {parked_ = true;
// fence; check the state}, the other {change the state; fence N of Notify; check parked_}. At least
// one of them sees the other. If both do, the exchange assigns the work to one of them.
class Parking final {
 public:
  // Waits like WaitUntil. kTimeout: the worker has waited so long that it must leave, and another
  // thread owns its work. This never happens to a worker that keeps user objects, or with
  // kNoDeadline.
  template <class Ready>
  WaitStatus Wait(EventCount& event, const CancelToken& cancel, MonoTime patience, Ready ready) {
    if (ready()) return WaitStatus::kReady;
    for (;;) {
      const MonoTime deadline = patience == kNoDeadline ? kNoDeadline : NowNs() + patience;
      const WaitStatus status = WaitUntil(event, cancel, deadline, ready);
      if (status != WaitStatus::kTimeout) return status;
      BlockingHook* const hook = GetBlockingHook();
      if (hook != nullptr && !hook->Replaceable()) {
        patience = kNoDeadline;
      } else if (Leave(ready)) {
        return status;
      }
    }
  }

  // Whether the worker must leave.
  template <class Ready>
  bool Leave(Ready ready) {
#if defined(PENSTOCK_TSAN)
    parked_.exchange(true, std::memory_order_seq_cst);  // instead of the fence: pairs with Replace
#else
    // Only read-modify-writes follow in Replace; release: pairs with its acquire.
    parked_.store(true, std::memory_order_release);
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
    if (!ready()) return true;
    return !parked_.exchange(false, std::memory_order_acq_rel);  // pairs with the one in Replace
  }

  // Whether the worker has left or is about to. If so, the caller must start another one; returns
  // true only once.
  bool Replace() {
#if defined(PENSTOCK_TSAN)
    return parked_.exchange(false, std::memory_order_seq_cst);  // pairs with Leave
#else
    // relaxed: after fence N. acq_rel: pairs with the store and the exchange in Leave.
    return parked_.load(std::memory_order_relaxed) &&
           parked_.exchange(false, std::memory_order_acq_rel);
#endif
  }

  // The caller could not start another one: Replace will be true again.
  void Restore() { parked_.store(true, std::memory_order_relaxed); }  // for the same thread
  // For the other thread, which then sees everything the worker published: acquire pairs with
  // Leave.
  bool parked() const { return parked_.load(std::memory_order_acquire); }

 private:
  std::atomic<bool> parked_{false};
};

}  // namespace penstock
