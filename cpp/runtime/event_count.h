// EventCount: sleep until another thread signals a change, without lost wake-ups.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "runtime/clock.h"
#include "runtime/platform.h"

#if !defined(PENSTOCK_LINUX)
#include <condition_variable>
#include <mutex>
#endif

namespace penstock {

// A condition variable for lock-free state: the state is elsewhere (a ring, a flag), the EventCount
// only signals "check again". Any number of waiters and notifiers.
//
//   waiter                                   notifier
//   key = PrepareWait()                      change the state (release)
//   if (state is good) CancelWait()          NotifyOne() or NotifyAll()
//   else Wait(key, deadline)
//
// Every PrepareWait is followed by exactly one CancelWait or Wait. Stages use WaitUntil (wait.h).
//
// Why no wake-up is lost (Dekker with two fences). The waiter does {waiters_ += 1; fence W; check
// the state}, the notifier {change the state; fence N; check waiters_}. Sequentially consistent
// fences have a single order. If W is before N, the notifier sees the waiter. If N is before W, the
// waiter sees the change and does not sleep. So at least one of them sees the other.
// If the notifier saw the waiter, it bumps epoch_ (release) after its change. The waiter read its
// key from epoch_ (acquire) before it checked the state. If the key is already the new epoch, the
// waiter sees the change. If not, the futex compares epoch_ with the key and does not sleep, or
// sleeps and is woken by the call after the bump.
//
// NotifyOne wakes at least one waiter; use it only if all waiters wait for the same condition.
// A notifier may still be inside Notify when the waiter has already seen the state and left. So the
// owner may destroy an EventCount only once the notifiers have returned (shared ownership, or a
// join). Waking a waiter costs the notifier a system call (5-7 us); without waiters, Notify is a
// fence and a load.
class alignas(128) EventCount final {
 public:
  enum class Wake { kNotified, kTimeout, kInterrupted };

  EventCount() = default;
  EventCount(const EventCount&) = delete;
  EventCount& operator=(const EventCount&) = delete;

  uint32_t PrepareWait() {
    // seq_cst: fence W of the argument above. The fetch_add is the RMW that pairs with the one in
    // HasWaiters under TSan, which does not know fences.
    waiters_.fetch_add(1, std::memory_order_seq_cst);
#if !defined(PENSTOCK_TSAN)
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
    return epoch_.load(std::memory_order_acquire);  // pairs with the bump in Notify
  }

  // relaxed: a notifier that still counts this waiter only makes an unnecessary system call.
  void CancelWait() { waiters_.fetch_sub(1, std::memory_order_relaxed); }

  // Sleeps until a notification after `key`, the deadline, or a signal (never kInterrupted without
  // futex). May return kNotified spuriously: the caller must check its state again in any case.
  Wake Wait(uint32_t key, MonoTime deadline);

  void NotifyOne() {
    if (HasWaiters()) Notify(1);
  }
  void NotifyAll() {
    if (HasWaiters()) Notify(kAll);
  }

 private:
  static constexpr int kAll = std::numeric_limits<int>::max();

  bool HasWaiters() {
#if defined(PENSTOCK_TSAN)
    // Read-modify-writes of one variable have a single order. If the waiter's is later, it reads
    // from this one and sees the change before it. If it is earlier, this one sees the waiter.
    return waiters_.fetch_add(0, std::memory_order_seq_cst) != 0;
#else
    std::atomic_thread_fence(std::memory_order_seq_cst);  // fence N; pairs with PrepareWait
    return waiters_.load(std::memory_order_relaxed) != 0;
#endif
  }
  void Notify(int count);

  std::atomic<uint32_t> epoch_{0};
  std::atomic<uint32_t> waiters_{0};
#if !defined(PENSTOCK_LINUX)
  std::mutex mutex_;  // a leaf: nothing else is locked under it
  std::condition_variable condition_;
#endif
};

}  // namespace penstock
