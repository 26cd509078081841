// Budget and StatsSink.
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "runtime/budget.h"
#include "runtime/stats.h"
#include "runtime/wait.h"

namespace penstock {
namespace {

TEST(Budget_counts_charges) {
  Budget budget(100);
  CHECK_EQ(budget.limit(), 100);
  budget.Charge(100);
  CHECK(!budget.over());
  budget.Charge(1);
  CHECK(budget.over());
  budget.Release(101);
  CHECK_EQ(budget.used(), 0);
}

TEST(BudgetCharge_moves_and_releases_once) {
  Budget budget(100);
  {
    BudgetCharge a(budget, 10);
    BudgetCharge b(std::move(a));
    CHECK_EQ(a.bytes(), 0);
    CHECK_EQ(budget.used(), 10);
    BudgetCharge c(budget, 5);
    c = std::move(b);
    CHECK_EQ(budget.used(), 10);
    BudgetCharge& same = c;
    c = std::move(same);
    CHECK_EQ(budget.used(), 10);
    std::vector<BudgetCharge> many;
    for (int i = 0; i < 10; ++i) many.emplace_back(budget, 2);
    CHECK_EQ(budget.used(), 30);
    c.Reset();
    c.Reset();
    CHECK_EQ(budget.used(), 20);
  }
  CHECK_EQ(budget.used(), 0);
}

TEST(Budget_many_threads) {
  Budget budget(1000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10'000; ++i) const BudgetCharge charge(budget, i);
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK_EQ(budget.used(), 0);
}

TEST(Budget_watch_is_told_when_it_is_no_longer_over) {
  Budget budget(100);
  EventCount event;
  const Budget::Watch watch(budget, event);
  const CancelToken never;
  budget.Charge(250);
  std::thread other([&] {
    for (int i = 0; i < 25; ++i) budget.Release(10);
  });
  // There is no deadline, so only the watch can end this wait.
  CHECK(WaitUntil(event, never, [&] { return !budget.over(); }) == WaitStatus::kReady);
  other.join();
}

TEST(Budget_watches_of_many_threads_lose_no_wake) {
  Budget budget(10);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      EventCount event;
      const Budget::Watch watch(budget, event);
      const CancelToken never;
      for (int i = 0; i < 5'000; ++i) {
        WaitUntil(event, never, [&] { return !budget.over(); });
        const BudgetCharge charge(budget, 5 + i % 3);
        if (i % 7 == 0) std::this_thread::yield();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK_EQ(budget.used(), 0);
}

TEST(StatsSink_same_path_same_entry) {
  StatsSink sink;
  StageStats* const a = sink.Add("root/0", {"batch", "", ""});
  StageStats* const b = sink.Add("root/0/0", {"map", "", ""});
  CHECK(a != b);
  CHECK(a == sink.Add("root/0", {"batch", "", ""}));
  StageStats::Add(a->steps, int64_t{3});
  StageStats::Set(b->parallelism, 4);
  const std::vector<StageSnapshot> all = sink.Snapshot();
  CHECK_EQ(all.size(), 2u);
  CHECK_EQ(all[0].path, "root/0");
  CHECK_EQ(all[0].label.kind, "batch");
  CHECK_EQ(all[0].steps, 3);
  CHECK_EQ(all[1].parallelism, 4);
}

TEST(StatsSink_threads_add_count_and_read) {
  StatsSink sink;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1'000; ++i) {
        StageStats* const stats = sink.Add("stage " + std::to_string(i % 100), {"x", "", ""});
        StageStats::Add(stats->steps, int64_t{1});
        if (i % 100 == 0) (void)sink.Snapshot();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  int64_t total = 0;
  for (const StageSnapshot& s : sink.Snapshot()) total += s.steps;
  CHECK_EQ(sink.Snapshot().size(), 100u);
  CHECK_EQ(total, 4'000);
}

}  // namespace
}  // namespace penstock
