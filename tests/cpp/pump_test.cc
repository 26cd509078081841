// Pump: joined on every way out, on every kind of thread.
#include "runtime/pump.h"

#include <atomic>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "check.h"
#include "fork_child.h"
#include "runtime/wait.h"

namespace penstock {
namespace {

class CountingHook final : public BlockingHook {
 public:
  void BeforeWait() override { ++before; }
  bool Interrupted() override {
    ++interrupted;
    return true;
  }
  int before = 0;
  int interrupted = 0;
};

TEST(Pump_destructor_waits_for_the_body) {
  for (int i = 0; i < 2'000; ++i) {
    int written = 0;  // not atomic: the join must make it visible
    {
      const Pump pump(Lane::kNative, "test", [&] { written = i + 1; });
    }
    if (written != i + 1) CHECK(false);
  }
}

TEST(Pump_body_waits_until_cancelled) {
  const CancelToken token;
  EventCount event;
  const CancelToken::Watch watch(token, event);
  WaitStatus status = WaitStatus::kReady;
  {
    Pump pump(Lane::kNative, "test",
              [&] { status = WaitUntil(event, token, [] { return false; }); });
    CHECK(!pump.done());
    token.Cancel();
    pump.Join();
    CHECK(pump.done());
    pump.Join();
  }
  CHECK(status == WaitStatus::kCancelled);
}

TEST(Pump_running_counts_the_bodies_that_have_not_returned) {
  const int before = Pump::running();
  const CancelToken token;
  EventCount event;
  const CancelToken::Watch watch(token, event);
  {
    const auto body = [&] { WaitUntil(event, token, [] { return false; }); };
    Pump one(Lane::kNative, "test", body), other(Lane::kNative, "test", body);
    CHECK_EQ(Pump::running(), before + 2);
    token.Cancel();
    one.Join();
    other.Join();
    CHECK_EQ(Pump::running(), before);
  }
  try {
    const Pump refused(Lane::kPython, "test", [] {});
    CHECK(false);
  } catch (const std::system_error&) {
    CHECK_EQ(Pump::running(), before);
  }
}

TEST(Pump_what_the_body_holds_is_destroyed_before_join_returns) {
  auto held = std::make_shared<int>(1);
  Pump pump(Lane::kNative, "test", [held] {});
  pump.Join();
  CHECK_EQ(held.use_count(), 1);
}

TEST(Pump_join_gives_up_the_foreign_lock_and_is_not_interrupted) {
  CountingHook hook;
  const ScopedBlockingHook scope(&hook);
  std::atomic<bool> go{false};
  EventCount changed;
  std::optional<Pump> pump(std::in_place, Lane::kNative, "test", [&] {
    WaitUntil(changed, CancelToken(), [&] { return go.load(std::memory_order_acquire); });
  });
  std::thread releaser([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));  // longer than kSignalSliceNs
    go.store(true, std::memory_order_release);
    changed.NotifyAll();
  });
  pump.reset();
  CHECK(hook.before > 0);
  CHECK_EQ(hook.interrupted, 0);
  releaser.join();
}

TEST(Pump_dropped_inside_its_own_body_does_not_wait_for_itself) {
  struct Shared {
    std::atomic<bool> made{false};
    std::atomic<bool> ended{false};
    EventCount changed;
    std::optional<Pump> pump;
  };
  // Shared, because the body's last NotifyAll may outlive this test.
  const auto shared = std::make_shared<Shared>();
  shared->pump.emplace(Lane::kNative, "test", [shared] {
    const auto mine = shared;  // the pump's own copy of the lambda is destroyed with the pump
    WaitUninterrupted(mine->changed, [&] { return mine->made.load(std::memory_order_acquire); });
    mine->pump.reset();
    mine->ended.store(true, std::memory_order_release);
    mine->changed.NotifyAll();
  });
  shared->made.store(true, std::memory_order_release);
  shared->changed.NotifyAll();
  WaitUninterrupted(shared->changed, [&] { return shared->ended.load(std::memory_order_acquire); });
  CHECK(shared->ended.load());
}

TEST(Pump_in_pump) {
  int depth = 0;
  std::function<void()> nest = [&] {
    if (++depth < 40) Pump(Lane::kNative, "nested", nest).Join();
  };
  Pump(Lane::kNative, "nested", nest).Join();
  CHECK_EQ(depth, 40);
}

TEST(Pump_python_lane_goes_through_the_spawner) {
  bool refused = false;
  try {
    const Pump pump(Lane::kPython, "test", [] {});
  } catch (const std::system_error&) {
    refused = true;
  }
  CHECK(refused);
  static std::atomic<int> spawned;
  ThreadPool::SetPythonSpawner([](const char*, std::function<void()> body) {
    spawned.fetch_add(1);
    std::thread([body] { body(); }).detach();  // copies the body, as a careless spawner may do
  });
  auto held = std::make_shared<int>(1);
  bool in_pool = true;
  {
    Pump pump(Lane::kPython, "test", [&in_pool, held] { in_pool = ThreadPool::InPool(); });
    pump.Join();
    CHECK_EQ(held.use_count(), 1);
  }
  ThreadPool::SetPythonSpawner(nullptr);
  CHECK_EQ(spawned.load(), 1);
  CHECK(!in_pool);
}

#if defined(PENSTOCK_TEST_FORK)
TEST(Pump_join_in_a_fork_child_returns_at_once) {
  const CancelToken token;
  EventCount event;
  const CancelToken::Watch watch(token, event);
  std::optional<Pump> pump(std::in_place, Lane::kNative, "test",
                           [&] { WaitUntil(event, token, [] { return false; }); });
  CHECK_EQ(InForkChild([&] {
             pump.reset();  // the thread does not exist in the child
             bool ran = false;
             Pump(Lane::kNative, "child", [&] { ran = true; }).Join();
             const CancelToken inherited_child = token.Child();
             token.Cancel();
             return ran && token.cancelled() && !inherited_child.cancelled() ? 0 : 1;
           }),
           0);
  token.Cancel();
}

TEST(Pump_exception_in_a_body_is_reported_and_the_join_returns) {
  const int status = InForkChild([] {
    std::freopen("/dev/null", "w", stderr);
    Pump(Lane::kNative, "throws", [] { throw std::runtime_error("from a body"); }).Join();
    bool ran = false;
    Pump(Lane::kNative, "after", [&] { ran = true; }).Join();
    return ran ? 7 : 1;
  });
#if defined(NDEBUG)
  CHECK_EQ(status, 7);
#else
  CHECK(status == -SIGABRT || status == 7);  // 7: the child ended before its abort
#endif
}
#endif

}  // namespace
}  // namespace penstock
