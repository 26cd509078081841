// Budget, StatsSink and Climber; the climber drives a small simulated stage.
#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "runtime/budget.h"
#include "runtime/stats.h"
#include "runtime/tuner.h"
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
  // Without a deadline: only the watch can end it.
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

// A parallel stage before a consumer: p workers of `work` seconds, at most `useful` of them help
// (cores, one lock); the consumer thinks `think` seconds for each output.
struct Simulated {
  double work;
  int useful;
  double think;

  Window Run(int p, double seconds = 1) const {
    const double produced = std::min(p, useful) / work;
    const double wanted = 1 / think;
    const double rate = std::min(produced, wanted);
    return {rate * seconds, seconds, std::max(0.0, 1 - rate * think),
            produced > wanted ? 1 - wanted / produced * 0.01 : 0.0};
  }
};

int Drive(Climber& climber, const Simulated& stage, int value, int windows) {
  for (int i = 0; i < windows; ++i) value = climber.Decide(value, stage.Run(value));
  return value;
}

int Moves(const Climber& climber) {
  return static_cast<int>(
      std::count_if(climber.log().begin(), climber.log().end(),
                    [](const TunerMove& m) { return m.old_value != m.new_value; }));
}

TEST(Climber_raises_until_the_consumer_no_longer_waits) {
  Climber climber("map.parallelism", 1, 64);
  const Simulated stage{1.0, 64, 0.1};  // needs 10 at once
  const int value = Drive(climber, stage, 1, 60);
  CHECK(value >= 10 && value <= 14);
  CHECK(climber.log().front().reason.find("raised: the consumer waits") == 0);
  CHECK_EQ(climber.log().front().knob, "map.parallelism");
  CHECK_EQ(climber.log().front().old_value, 1);
  CHECK_EQ(climber.log().front().new_value, 2);
}

TEST(Climber_reverts_what_does_not_help_and_tries_less_and_less_often) {
  Climber climber("map.parallelism", 1, 64);
  const Simulated one_lock{1.0, 1, 0.1};  // more workers never help
  CHECK_EQ(Drive(climber, one_lock, 1, 400), 1);
  const int moves = Moves(climber);
  CHECK(moves >= 4 && moves <= 20);
  CHECK(climber.log()[1].reason.find("reverted") == 0);
  double gap = 0;
  for (size_t i = 2; i < climber.log().size(); i += 2) {
    const double next = climber.log()[i].time - climber.log()[i - 1].time;
    CHECK(next >= gap);
    gap = next;
  }
}

TEST(Climber_stops_near_the_knee) {
  Climber climber("map.parallelism", 1, 64);
  const Simulated six_cores{1.0, 6, 0.01};
  const int value = Drive(climber, six_cores, 1, 100);
  CHECK(value >= 6 && value <= 9);
}

TEST(Climber_lowers_when_the_stage_is_idle_and_not_below_the_need) {
  Climber climber("map.parallelism", 1, 64);
  const Simulated stage{1.0, 64, 0.25};  // needs 4
  const int value = Drive(climber, stage, 12, 400);
  CHECK_EQ(value, 4);
}

TEST(Climber_freezes_when_quiet_and_resumes_when_the_consumer_waits) {
  Climber climber("prefetch.limit", 1, 16);
  const Window quiet{100, 1, 0.0, 0.3};
  int value = 4;
  for (int i = 0; i < 5; ++i) value = climber.Decide(value, quiet);
  CHECK(climber.frozen());
  CHECK_EQ(value, 4);
  CHECK_EQ(climber.Decide(4, {100, 1, 0.04, 0.0}), 4);  // not enough to thaw
  CHECK(climber.frozen());
  CHECK_EQ(climber.Decide(4, {100, 1, 0.20, 0.0}), 6);
  CHECK(!climber.frozen());
}

TEST(Climber_follows_a_change_of_the_load) {
  Climber climber("map.parallelism", 1, 64);
  int value = Drive(climber, {1.0, 64, 0.5}, 1, 60);
  CHECK_EQ(value, 2);
  value = Drive(climber, {1.0, 64, 0.05}, value, 60);
  CHECK(value >= 20 && value <= 30);
  value = Drive(climber, {1.0, 64, 0.5}, value, 600);
  CHECK(value <= 3);
}

TEST(Climber_stays_in_its_bounds_and_is_silent_at_the_top) {
  Climber climber("map.parallelism", 1, 4);
  CHECK_EQ(Drive(climber, {1.0, 64, 0.01}, 1, 1'000), 4);
  CHECK(climber.log().size() < 10);
  Climber low("map.parallelism", 2, 4);
  CHECK_EQ(Drive(low, {0.001, 64, 1.0}, 4, 200), 2);
}

TEST(Climber_ignores_empty_windows_and_survives_no_output) {
  Climber climber("x", 1, 8);
  CHECK_EQ(climber.Decide(3, Window{}), 3);
  int value = 3;
  for (int i = 0; i < 50; ++i) value = climber.Decide(value, {0, 1, 1.0, 0});
  CHECK(value >= 3 && value <= 4);
  CHECK(climber.log().size() < 20);
}

}  // namespace
}  // namespace penstock
