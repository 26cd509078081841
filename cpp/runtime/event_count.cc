// The slow half of EventCount: sleeping and waking, with a futex or with a mutex and condition
// variable.
#include "runtime/event_count.h"

#if defined(PENSTOCK_LINUX)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#endif

namespace penstock {

#if defined(PENSTOCK_LINUX)

namespace {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) &&
              std::atomic<uint32_t>::is_always_lock_free);

uint32_t* FutexWord(std::atomic<uint32_t>& word) { return reinterpret_cast<uint32_t*>(&word); }

// Returns 0 or an errno. The deadline is absolute: a restarted wait does not get longer.
int FutexWait(std::atomic<uint32_t>& word, uint32_t expected, MonoTime deadline) {
  timespec until;
  const timespec* timeout = nullptr;
  if (deadline != kNoDeadline) {
    const MonoTime ns = std::max<MonoTime>(deadline, 0);
    until.tv_sec = static_cast<time_t>(ns / 1'000'000'000);
    until.tv_nsec = static_cast<long>(ns % 1'000'000'000);
    timeout = &until;
  }
  const long rc = syscall(SYS_futex, FutexWord(word), FUTEX_WAIT_BITSET_PRIVATE, expected, timeout,
                          nullptr, FUTEX_BITSET_MATCH_ANY);
  return rc == 0 ? 0 : errno;
}

}  // namespace

EventCount::Wake EventCount::Wait(uint32_t key, MonoTime deadline) {
  Wake wake = Wake::kNotified;
  while (epoch_.load(std::memory_order_acquire) == key) {  // pairs with the bump in Notify
    const int error = FutexWait(epoch_, key, deadline);
    if (error != ETIMEDOUT && error != EINTR) continue;  // woken, or EAGAIN: epoch_ has moved
    // A simultaneous notification wins: it may have been meant for this waiter only.
    if (epoch_.load(std::memory_order_acquire) == key) {
      wake = error == ETIMEDOUT ? Wake::kTimeout : Wake::kInterrupted;
    }
    break;
  }
  waiters_.fetch_sub(1, std::memory_order_relaxed);  // as in CancelWait
  return wake;
}

void EventCount::Notify(int count) {
  epoch_.fetch_add(1, std::memory_order_release);  // pairs with acquire in PrepareWait and Wait
  syscall(SYS_futex, FutexWord(epoch_), FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

#else

EventCount::Wake EventCount::Wait(uint32_t key, MonoTime deadline) {
  // acquire below: pairs with the bump in Notify (the mutex alone would suffice).
  const auto notified = [&] { return epoch_.load(std::memory_order_acquire) != key; };
  bool woken = true;
  {
    std::unique_lock lock(mutex_);
    if (deadline == kNoDeadline) {
      condition_.wait(lock, notified);
    } else {
      const std::chrono::steady_clock::time_point until{std::chrono::nanoseconds(deadline)};
      woken = condition_.wait_until(lock, until, notified);
    }
  }
  waiters_.fetch_sub(1, std::memory_order_relaxed);  // as in CancelWait
  return woken ? Wake::kNotified : Wake::kTimeout;
}

void EventCount::Notify(int count) {
  // Bumped under the mutex, which a waiter holds between its check of epoch_ and its sleep.
  // Notified under it too, so that a waiter that frees the EventCount cannot overtake notify_*.
  const std::lock_guard lock(mutex_);
  epoch_.fetch_add(1, std::memory_order_release);  // pairs with acquire in PrepareWait and Wait
  if (count == 1) {
    condition_.notify_one();
  } else {
    condition_.notify_all();
  }
}

#endif

}  // namespace penstock
