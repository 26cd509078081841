// Parking: threads that leave when there is nothing to do, and the threads that replace them.
#include "runtime/parking.h"

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "check.h"
#include "runtime/pump.h"
#include "runtime/slot_ring.h"
#include "runtime/spsc_ring.h"

namespace penstock {
namespace {

TEST(Parking_leaves_only_where_there_is_nothing_to_do) {
  Parking parking;
  CHECK(!parking.Leave([] { return true; }));
  CHECK(!parking.Replace());
  CHECK(parking.Leave([] { return false; }));
  CHECK(parking.parked());
  CHECK(parking.Replace());
  CHECK(!parking.Replace());
}

TEST(Parking_a_replacement_that_comes_first_has_the_work) {
  Parking parking;
  CHECK(parking.Leave([&] { return parking.Replace(); }));
}

TEST(Parking_waits_for_its_patience_and_not_for_work_that_is_there) {
  Parking parking;
  EventCount event;
  const CancelToken cancel;
  const CancelToken::Watch watch(cancel, event);
  CHECK(parking.Wait(event, cancel, 0, [] { return true; }) == WaitStatus::kReady);
  CHECK(parking.Wait(event, cancel, 1000, [] { return false; }) == WaitStatus::kTimeout);
  CHECK(parking.Replace());
  cancel.Cancel();
  CHECK(parking.Wait(event, cancel, kNoDeadline, [] { return false; }) == WaitStatus::kCancelled);
}

TEST(Parking_a_thread_that_keeps_something_of_the_user_stays) {
  class Kept final : public BlockingHook {
   public:
    void BeforeWait() override {}
    bool Interrupted() override { return false; }
    bool Interruptible() const override { return false; }
    bool Replaceable() override {
      ++asked;
      return false;
    }
    int asked = 0;
  };
  Parking parking;
  EventCount event;
  const CancelToken cancel;
  const CancelToken::Watch watch(cancel, event);
  Kept hook;
  const ScopedBlockingHook scope(&hook);
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    cancel.Cancel();
  });
  CHECK(parking.Wait(event, cancel, 1000, [] { return false; }) == WaitStatus::kCancelled);
  CHECK_EQ(hook.asked, 1);
  CHECK(!parking.parked());
  canceller.join();
}

// Like prefetch: one thread fills a ring and leaves at once when the ring is full; the pop that
// makes room starts the next thread. If one start were missed, the consumer would wait for ever.
void Fill(MonoTime patience, int values) {
  SpscRing<int> ring(2);
  EventCount room;
  EventCount ready;
  const CancelToken never;
  Parking parking;
  int next = 0;  // belongs to the filling thread; handed on to the next
  std::optional<Pump> pump;
  int started = 0;
  const auto start = [&] {
    ++started;
    pump.reset();
    pump.emplace(Lane::kNative, "fill", [&] {
      while (next < values) {
        if (parking.Wait(room, never, patience, [&] { return ring.has_room(); }) !=
            WaitStatus::kReady) {
          return;
        }
        ring.try_push(next++);
        ready.NotifyAll();
      }
    });
  };
  start();
  bool good = true;
  for (int n = 0; n < values; ++n) {
    int x = -1;
    WaitUntil(ready, never, [&] { return ring.try_pop(x); });
    room.NotifyOne();
    if (parking.Replace()) start();
    good = good && x == n;
    if (n % 64 == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  pump.reset();
  CHECK(good);
  CHECK_EQ(next, values);
  CHECK(started > 1);
}

TEST(Parking_threads_that_leave_at_once_lose_no_work) { Fill(0, 10'000); }
TEST(Parking_threads_that_leave_soon_lose_no_work) { Fill(20'000, 10'000); }

// Like a parallel map: several threads take turns under a mutex to number work, and each leaves on
// its own.
TEST(Parking_crews_lose_no_work) {
  constexpr int kThreads = 3;
  constexpr int kValues = 20'000;
  SlotRing<int> ring(4);
  EventCount room;
  EventCount ready;
  const CancelToken never;
  std::mutex input;
  uint64_t next = 0;
  struct Member {
    Parking parking;
    std::optional<Pump> pump;
  };
  std::vector<std::unique_ptr<Member>> crew;
  const auto start = [&](Member& member) {
    member.pump.reset();
    member.pump.emplace(Lane::kNative, "crew", [&] {
      for (;;) {
        uint64_t seq;
        {
          const std::lock_guard lead(input);
          if (next == kValues) return;
          auto has_room = [&] { return ring.has_room(next); };
          if (member.parking.Wait(room, never, 5'000, has_room) != WaitStatus::kReady) return;
          seq = next++;
        }
        ring.publish_next(static_cast<int>(seq));
        ready.NotifyOne();
      }
    });
  };
  for (int i = 0; i < kThreads; ++i) {
    crew.push_back(std::make_unique<Member>());
    start(*crew.back());
  }
  std::vector<bool> seen(kValues);
  bool good = true;
  for (int n = 0; n < kValues; ++n) {
    int x = -1;
    WaitUntil(ready, never, [&] { return ring.try_pop_any(x, nullptr); });
    room.NotifyAll();
    for (auto& member : crew) {
      if (member->parking.parked() && member->parking.Replace()) start(*member);
    }
    good = good && !seen[static_cast<size_t>(x)];
    seen[static_cast<size_t>(x)] = true;
    if (n % 64 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  crew.clear();
  CHECK(good);
}

}  // namespace
}  // namespace penstock
