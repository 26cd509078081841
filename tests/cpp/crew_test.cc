// Crew: threads that leave, come back, and are refused by the system.
#include "runtime/crew.h"

#include <atomic>
#include <mutex>
#include <system_error>

#include "check.h"
#include "runtime/slot_ring.h"

namespace penstock {
namespace {

// Stands in for a system that refuses every n-th thread, or none.
class Refusals final {
 public:
  explicit Refusals(int every) {
    every_.store(every, std::memory_order_relaxed);
    asked_.store(0, std::memory_order_relaxed);
    ThreadPool::SetPythonSpawner(Spawn);
  }
  ~Refusals() { ThreadPool::SetPythonSpawner(nullptr); }
  Refusals(const Refusals&) = delete;
  Refusals& operator=(const Refusals&) = delete;
  void Set(int every) { every_.store(every, std::memory_order_relaxed); }

 private:
  static void Spawn(const char* name, std::function<void()> body) {
    const int every = every_.load(std::memory_order_relaxed);
    if (every > 0 && asked_.fetch_add(1, std::memory_order_relaxed) % every == every - 1) {
      throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    }
    ThreadPool::Get().Run(Lane::kNative, name, std::move(body));
  }
  static inline std::atomic<int> every_{0};
  static inline std::atomic<int> asked_{0};
};

template <class Call>
bool Refused(Call call) {
  try {
    call();
    return false;
  } catch (const std::system_error&) {
    return true;
  }
}

TEST(Crew_says_when_one_more_is_refused) {
  Refusals refusals(2);
  std::atomic<int> worked{0};
  {
    Crew crew(Lane::kPython, "crew", [&](int, Parking&) { worked.fetch_add(1); }, [] {});
    CHECK(!Refused([&] { crew.Add(); }));
    CHECK(!crew.refused());
    CHECK(Refused([&] { crew.Add(); }));
    CHECK(crew.refused());
    CHECK_EQ(crew.size(), 1);
  }
  CHECK_EQ(worked.load(), 1);
}

// Two threads have left. Nothing is thrown while one of them can come back or another one can do
// the work.
TEST(Crew_throws_only_where_nobody_is_left_to_do_the_work) {
  Refusals refusals(0);
  EventCount event;
  const CancelToken cancel;
  const CancelToken::Watch watch(cancel, event);
  std::atomic<int> left{0};
  std::atomic<int> last{0};
  EventCount changed;
  Crew crew(
      Lane::kPython, "crew",
      [&](int number, Parking& parking) {
        const MonoTime patience = number == 2 ? kNoDeadline : 0;
        parking.Wait(event, cancel, patience, [] { return false; });
        left.fetch_add(1, std::memory_order_acq_rel);
        changed.NotifyAll();
      },
      [&] { last.fetch_add(1); });
  const auto recall = [&](int most) {
    event.NotifyAll();
    return Refused([&] { crew.Recall([most](int number) { return number < most; }, false); });
  };
  for (int i = 0; i < 3; ++i) crew.Add();
  WaitUninterrupted(changed, [&] { return left.load(std::memory_order_acquire) == 2; });
  refusals.Set(1);
  CHECK(!recall(3));  // number 2 is still there
  CHECK(recall(2));   // number 2 is still there, but this is not its work
  CHECK(recall(2));
  refusals.Set(0);
  CHECK(!recall(1));
  WaitUninterrupted(changed, [&] { return left.load(std::memory_order_acquire) == 3; });
  cancel.Cancel();
  crew.Join();
  CHECK_EQ(left.load(), 4);
  CHECK(last.load() >= 1);  // more often if one left before the next began
}

// Like a parallel map: the consumer takes over when all threads have left and none comes back.
void Deliver(int every, MonoTime patience, int values) {
  Refusals refusals(every);
  SlotRing<int> ring(8);
  EventCount room;
  EventCount ready;
  const CancelToken never;
  std::mutex mutex;
  int next = 0;  // guarded by `mutex`
  Crew crew(
      Lane::kPython, "crew",
      [&](int, Parking& parking) {
        for (;;) {
          int number;
          {
            const std::lock_guard lock(mutex);
            if (next == values) return;
            const auto has_room = [&] { return ring.has_room(static_cast<uint64_t>(next)); };
            if (parking.Wait(room, never, patience, has_room) != WaitStatus::kReady) return;
            number = next++;
          }
          ring.publish(static_cast<uint64_t>(number), int{number});
          ready.NotifyOne();
        }
      },
      [] {});
  bool here = false;
  const auto recall = [&](bool needed) {
    here = here || Refused([&] { crew.Recall([](int) { return true; }, needed); });
  };
  for (int i = 0; i < 3; ++i) Refused([&] { crew.Add(); });
  here = crew.empty();
  bool good = true;
  for (int n = 0; n < values; ++n) {
    int x = -1;
    if (!ring.try_pop(x)) {
      recall(true);
      if (here) {
        // The last thread may have published between the check and the recall.
        const std::lock_guard lock(mutex);
        if (!ring.try_pop(x)) x = next++;
      } else {
        WaitUntil(ready, never, [&] { return ring.try_pop(x); });
      }
    }
    if (!here) {
      room.NotifyAll();
      recall(false);
    }
    good = good && x == n;
  }
  crew.Join();
  CHECK(good);
  CHECK_EQ(next, values);
}

TEST(Crew_refused_loses_no_work) {
  Deliver(1, 0, 100);
  for (int every : {2, 3, 50}) {
    for (int run = 0; run < 20; ++run) {
      Deliver(every, 0, 500);
      Deliver(every, 20'000, 500);
    }
  }
}

}  // namespace
}  // namespace penstock
