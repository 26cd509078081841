// EventCount and WaitUntil: no lost wake-up, deadlines, signals, hooks.
#include "runtime/event_count.h"

#include <pthread.h>

#include <csignal>
#include <stdexcept>
#include <thread>
#include <vector>

#include "check.h"
#include "runtime/wait.h"

namespace penstock {
namespace {

constexpr MonoTime kMs = 1'000'000;

class FakeHook final : public BlockingHook {
 public:
  explicit FakeHook(int end_after) : end_after_(end_after) {}
  void BeforeWait() override { ++before; }
  bool Interrupted() override { return ++interrupted >= end_after_; }
  int before = 0;
  int interrupted = 0;

 private:
  const int end_after_;
};

// Takes a few nanoseconds per step; the compiler cannot remove the loop.
void Delay(int steps) {
  std::atomic<int> left{steps};
  while (left.load(std::memory_order_relaxed) > 0) {
    left.store(left.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  }
}

TEST(EventCount_notify_between_prepare_and_wait_is_not_lost) {
  EventCount event;
  const uint32_t key = event.PrepareWait();
  event.NotifyOne();
  CHECK(event.Wait(key, kNoDeadline) == EventCount::Wake::kNotified);
}

TEST(EventCount_wait_ends_at_the_deadline_and_not_before) {
  EventCount event;
  const MonoTime until = NowNs() + 20 * kMs;
  CHECK(event.Wait(event.PrepareWait(), until) == EventCount::Wake::kTimeout);
  CHECK(NowNs() >= until);
  CHECK(event.Wait(event.PrepareWait(), 0) == EventCount::Wake::kTimeout);
  CHECK(event.Wait(event.PrepareWait(), -1) == EventCount::Wake::kTimeout);
}

// Two threads hand a number back and forth; one lost wake-up stops both.
TEST(EventCount_ping_pong) {
  constexpr int kRounds = 100'000;
  EventCount changed[2];
  std::atomic<int> turn{0};
  const CancelToken never;
  const auto play = [&](int me) {
    for (int i = me; i < kRounds; i += 2) {
      WaitUntil(changed[me], never, [&] { return turn.load(std::memory_order_acquire) == i; });
      turn.store(i + 1, std::memory_order_release);  // pairs with the other player's acquire
      changed[1 - me].NotifyOne();
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
  CHECK_EQ(turn.load(), kRounds);
}

// The race itself: both threads are awake and meet within nanoseconds, so that one checks the state
// while the store of the other is still in its core's store buffer. Without fence N this hangs
// within a few thousand rounds.
TEST(EventCount_change_and_prepare_at_the_same_moment) {
  constexpr int kRounds = 100'000;
  EventCount changed;
  alignas(128) std::atomic<int> state{0};
  alignas(128) std::atomic<int> at_start[2] = {0, 0};
  const CancelToken never;
  const auto meet = [&](int me, int round) {
    at_start[me].store(round, std::memory_order_release);
    for (int spins = 0; at_start[1 - me].load(std::memory_order_acquire) < round; ++spins) {
      if (spins > 2'000) std::this_thread::yield();  // the other thread has no CPU
    }
  };
  std::thread waiter([&] {
    for (int i = 1; i <= kRounds; ++i) {
      meet(0, i);
      Delay(i % 8);
      WaitUntil(changed, never, [&] { return state.load(std::memory_order_acquire) >= i; });
    }
  });
  for (int i = 1; i <= kRounds; ++i) {
    meet(1, i);
    Delay(i % 61);
    state.store(i, std::memory_order_release);
    changed.NotifyOne();
  }
  waiter.join();
  CHECK_EQ(state.load(), kRounds);
}

// A semaphore with several takers on one event: NotifyOne for each unit must serve all of them.
TEST(EventCount_notify_one_serves_every_unit) {
  constexpr int kTakers = 4;
  constexpr int kUnits = 40'000;
  EventCount changed;
  std::atomic<int> units{0};
  std::atomic<int> taken{0};
  const CancelToken never;
  const auto take_one = [&] {
    int n = units.load(std::memory_order_acquire);
    while (n > 0) {
      if (units.compare_exchange_weak(n, n - 1, std::memory_order_acq_rel)) return true;
    }
    return false;
  };
  std::vector<std::thread> takers;
  for (int t = 0; t < kTakers; ++t) {
    takers.emplace_back([&] {
      for (int i = 0; i < kUnits / kTakers; ++i) {
        WaitUntil(changed, never, take_one);
        taken.fetch_add(1, std::memory_order_relaxed);
      }
    });
  }
  for (int i = 0; i < kUnits; ++i) {
    units.fetch_add(1, std::memory_order_release);
    changed.NotifyOne();
    if (i % 64 == 0) std::this_thread::yield();
  }
  for (std::thread& t : takers) t.join();
  CHECK_EQ(taken.load(), kUnits);
  CHECK_EQ(units.load(), 0);
}

TEST(EventCount_notify_all_wakes_all) {
  constexpr int kWaiters = 4;
  constexpr int kRounds = 2'000;
  EventCount changed;
  EventCount arrived_changed;
  std::atomic<int> round{0};
  std::atomic<int> arrived{0};
  const CancelToken never;
  std::vector<std::thread> waiters;
  for (int t = 0; t < kWaiters; ++t) {
    waiters.emplace_back([&] {
      for (int r = 1; r <= kRounds; ++r) {
        WaitUntil(changed, never, [&] { return round.load(std::memory_order_acquire) >= r; });
        arrived.fetch_add(1, std::memory_order_release);
        arrived_changed.NotifyOne();
      }
    });
  }
  for (int r = 1; r <= kRounds; ++r) {
    round.store(r, std::memory_order_release);
    changed.NotifyAll();
    WaitUntil(arrived_changed, never,
              [&] { return arrived.load(std::memory_order_acquire) == r * kWaiters; });
  }
  for (std::thread& t : waiters) t.join();
  CHECK_EQ(arrived.load(), kWaiters * kRounds);
}

#if defined(PENSTOCK_LINUX)
TEST(EventCount_signal_ends_a_wait) {
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  sigaction(SIGUSR1, &action, nullptr);
  EventCount event;
  std::atomic<bool> ended{false};
  EventCount::Wake wake = EventCount::Wake::kNotified;
  std::thread waiter([&] {
    wake = event.Wait(event.PrepareWait(), kNoDeadline);
    ended.store(true, std::memory_order_release);
  });
  while (!ended.load(std::memory_order_acquire)) {  // the first signal may come before the sleep
    pthread_kill(waiter.native_handle(), SIGUSR1);
    std::this_thread::yield();
  }
  waiter.join();
  CHECK(wake == EventCount::Wake::kInterrupted);
}
#endif

TEST(WaitUntil_ready_at_once_touches_no_hook) {
  EventCount event;
  FakeHook hook(1);
  const ScopedBlockingHook scope(&hook);
  CHECK(WaitUntil(event, CancelToken(), [] { return true; }) == WaitStatus::kReady);
  CHECK_EQ(hook.before, 0);
}

TEST(WaitUntil_hook_is_asked_in_slices_and_can_end_the_wait) {
  EventCount event;
  FakeHook hook(2);
  const ScopedBlockingHook scope(&hook);
  const MonoTime start = NowNs();
  CHECK(WaitUntil(event, CancelToken(), [] { return false; }) == WaitStatus::kInterrupted);
  CHECK(NowNs() - start >= 200 * kMs);
  CHECK_EQ(hook.interrupted, 2);
  CHECK(hook.before >= 2);
}

TEST(WaitUntil_hook_that_nothing_interrupts_sleeps_until_it_is_woken) {
  class Undisturbed final : public BlockingHook {
   public:
    void BeforeWait() override { ++before; }
    bool Interrupted() override { return ++asked > 0; }
    bool Interruptible() const override { return false; }
    int before = 0;
    int asked = 0;
  };
  EventCount event;
  Undisturbed hook;
  const ScopedBlockingHook scope(&hook);
  const MonoTime until = NowNs() + 250 * kMs;
  CHECK(WaitUntil(event, CancelToken(), until, [] { return false; }) == WaitStatus::kTimeout);
  CHECK_EQ(hook.asked, 0);
  CHECK_EQ(hook.before, 1);
}

TEST(WaitUntil_deadline) {
  EventCount event;
  const MonoTime until = NowNs() + 10 * kMs;
  CHECK(WaitUntil(event, CancelToken(), until, [] { return false; }) == WaitStatus::kTimeout);
  CHECK(NowNs() >= until);
  CHECK(WaitUntil(event, CancelToken(), until, [] { return true; }) == WaitStatus::kReady);
}

TEST(WaitUntil_ready_wins_over_cancel) {
  EventCount event;
  const CancelToken token;
  token.Cancel();
  CHECK(WaitUntil(event, token, [] { return true; }) == WaitStatus::kReady);
  CHECK(WaitUntil(event, token, [] { return false; }) == WaitStatus::kCancelled);
}

TEST(WaitUntil_exception_of_ready_leaves_the_event_usable) {
  EventCount event;
  int calls = 0;
  bool caught = false;
  try {
    WaitUntil(event, CancelToken(), [&]() -> bool {
      if (++calls == 2) throw std::runtime_error("from ready");
      return false;
    });
  } catch (const std::runtime_error&) {
    caught = true;
  }
  CHECK(caught);
  CHECK(event.Wait(event.PrepareWait(), NowNs() + kMs) == EventCount::Wake::kTimeout);
}

TEST(LeaveForeignLock_calls_the_hook_of_this_thread) {
  FakeHook hook(1);
  LeaveForeignLock();
  CHECK_EQ(hook.before, 0);
  {
    const ScopedBlockingHook scope(&hook);
    LeaveForeignLock();
    std::thread([] { LeaveForeignLock(); }).join();
  }
  CHECK_EQ(hook.before, 1);
  CHECK(GetBlockingHook() == nullptr);
}

}  // namespace
}  // namespace penstock
