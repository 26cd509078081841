// Activity: what threads are doing, as another thread sees it. Also run under ThreadSanitizer.
#include "runtime/activity.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "runtime/stats.h"
#include "runtime/trace.h"

namespace penstock {
namespace {

// Finds the record of the thread that is in this stage; false when there is none.
bool Find(const StageStats* stage, Doing* doing) {
  bool found = false;
  Activity::ForEach([&](Activity::Record& record) {
    if (record.stage.load(std::memory_order_relaxed) != stage) return;
    found = true;
    *doing = record.doing.load(std::memory_order_relaxed);
  });
  return found;
}

TEST(Activity_is_written_only_while_it_is_observed) {
  StageStats stage;
  Doing doing;
  {
    const InStage in(&stage);
    CHECK(!Find(&stage, &doing));
  }
  const Activity::Observer observer;
  const InStage in(&stage);
  CHECK(Find(&stage, &doing));
  CHECK(doing == Doing::kRun);
}

TEST(Activity_scopes_give_back_what_was_there) {
  const Activity::Observer observer;
  StageStats outer, inner;
  Doing doing;
  const InStage in(&outer);
  {
    const InStage deeper(&inner, Doing::kPython);
    CHECK(!Find(&outer, &doing));
    CHECK(Find(&inner, &doing));
    CHECK(doing == Doing::kPython);
    {
      const WaitsFor room(Doing::kRoom);
      const Sleeps sleeps;
      CHECK(Find(&inner, &doing));
      CHECK(doing == Doing::kRoom);
    }
    const Sleeps sleeps;
    CHECK(Find(&inner, &doing));
    CHECK(doing == Doing::kInput);
  }
  CHECK(Find(&outer, &doing));
  CHECK(doing == Doing::kRun);
}

TEST(Activity_of_a_scope_that_began_before_the_observer_stays_unknown) {
  StageStats stage;
  Doing doing;
  const InStage in(&stage);
  const Activity::Observer observer;
  CHECK(!Find(&stage, &doing));
  {
    const Does calls(Doing::kPython);
    CHECK(!Find(&stage, &doing));
  }
}

TEST(Activity_of_threads_that_come_and_go_while_it_is_read) {
  constexpr int kThreads = 4, kRounds = 200;
  const Activity::Observer observer;
  std::vector<StageStats> stages(kThreads);
  std::atomic<int> left{kThreads};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < kRounds; ++round) {
        std::thread([&] {
          Trace::SetThreadName("short");
          const InStage in(&stages[static_cast<size_t>(i)]);
          const Does calls(Doing::kPython);
        }).join();
      }
      left.fetch_sub(1);
    });
  }
  int64_t seen = 0, wrong = 0;
  while (left.load() > 0) {
    Activity::ForEach([&](Activity::Record& record) {
      const StageStats* stage = record.stage.load(std::memory_order_relaxed);
      if (!stage) return;
      ++seen;
      wrong += stage < stages.data() || stage >= stages.data() + kThreads;
      wrong += record.CpuNs() < -1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQ(wrong, 0);
  Doing doing;
  for (const StageStats& stage : stages) CHECK(!Find(&stage, &doing));
}

TEST(CallTimes_have_quantiles) {
  CallTimes calls;
  CHECK_EQ(calls.Quantile(0.5), 0.0);
  for (int i = 1; i <= 100; ++i) calls.Add(i * 1000, 1, 8);
  CHECK(calls.Quantile(0.5) > 44e-6);
  CHECK(calls.Quantile(0.5) < 57e-6);
  CHECK(calls.Quantile(1) <= 100e-6);
  CHECK_EQ(calls.longest_ns.load(), 100'000);
  CHECK_EQ(calls.bytes.load(), 800);
  calls.Add(0, 5, 0);  // less than one tick of the clock
  calls.Add(100, 0, 0);
  CHECK_EQ(calls.rows.load(), 105);
}

}  // namespace
}  // namespace penstock
