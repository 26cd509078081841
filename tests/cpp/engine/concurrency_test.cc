// Stages with threads: their elements, the order of the elements, and a close in the middle.
#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "check.h"
#include "engine/observation.h"
#include "plans.h"
#include "runtime/blocking.h"
#include "runtime/hand_over.h"

namespace penstock::testing {
namespace {

constexpr int64_t kMany = 600;

std::vector<int64_t> Sorted(std::vector<int64_t> numbers) {
  std::ranges::sort(numbers);
  return numbers;
}

DatasetPtr Slow(int64_t x) { return Map(Range(x % 9), That(Does::kTriple)); }
DatasetPtr SlowInParallel(int64_t x) { return ParallelMap(Range(x % 9), That(Does::kTriple), 2); }

// Every stage that has threads, alone and inside others, next to a plan without threads that gives
// the same elements.
struct Pipeline {
  const char* name;
  DatasetPtr parallel;
  DatasetPtr plain;
};

std::vector<Pipeline> Pipelines() {
  auto triple = [](int64_t n) { return Map(Range(n), That(Does::kTriple)); };
  auto tripled = [](int64_t n, int64_t calls) {
    return ParallelMap(Range(n), That(Does::kTriple), calls);
  };
  auto rows = [](DatasetPtr input, int64_t calls) {
    return ParallelMap(std::move(input), That(Does::kRow), calls);
  };
  return {
      {"parallel map", tripled(kMany, 4), triple(kMany)},
      {"parallel map that is tuned", tripled(kMany, kAutotune), triple(kMany)},
      {"prefetch", Prefetch(triple(kMany), 3), triple(kMany)},
      {"prefetches", Prefetch(Prefetch(tripled(kMany, 3), 2), kAutotune), triple(kMany)},
      {"errors", Prefetch(ParallelMap(Range(kMany), That(Does::kFail), 4), 2),
       Map(Range(kMany), That(Does::kFail))},
      {"slabs of batches", Prefetch(Batch(rows(Range(kMany), 4), 16), 2),
       Batch(Map(Range(kMany), That(Does::kRow)), 16)},
      {"slabs of batches of what is left", Batch(rows(Filter(Range(kMany), IsEven()), 3), 7),
       Batch(Map(Filter(Range(kMany), IsEven()), That(Does::kRow)), 7)},
      {"parallel filter", ParallelFilter(Prefetch(Range(kMany), 2), IsEven(), 4),
       Filter(Range(kMany), IsEven())},
      {"interleave", Interleave(Range(60), Opens(Slow), 5, 3),
       Interleave(Range(60), Opens(Slow), 5, 0)},
      {"nested", Prefetch(Interleave(Prefetch(Range(60), 2), Opens(SlowInParallel), 4, 2), 3),
       Interleave(Range(60), Opens(Slow), 4, 0)},
      {"shuffle of epochs", Repeat(Shuffle(tripled(100, 3), 30), 3),
       Repeat(Shuffle(triple(100), 30), 3)},
      {"lines of a file", Lines(3), Lines(0)},
      {"lines of a file, made ahead", Prefetch(Lines(2), 2), Lines(0)},
      {"cache", Repeat(Prefetch(Cache(tripled(100, 3)), 2), 3), Repeat(Cache(triple(100)), 3)},
      {"one cache in two branches",
       [&] {
         DatasetPtr cache = Cache(tripled(100, 2));
         return Zip(Prefetch(Repeat(cache, 2), 2), Prefetch(Repeat(cache, 2), 4));
       }(),
       Zip(Repeat(triple(100), 2), Repeat(triple(100), 2))},
      {"unbatched",
       ParallelMap(Unbatch(Prefetch(Batch(tripled(kMany, 2), 9), 2)), That(Does::kTriple), 2),
       Map(Unbatch(Batch(triple(kMany), 9)), That(Does::kTriple))},
  };
}

// Runs `test` on each pipeline, also with the input of a prefetch or parallel map moved between the
// consumer and its thread after every second take.
void ForEach(const std::function<void(const Pipeline&)>& test) {
  for (const int64_t takes : {0, 2}) {
    HandOver::ChangeEvery(takes);
    for (const Pipeline& pipeline : Pipelines()) test(pipeline);
  }
  HandOver::ChangeEvery(0);
}

TEST(Engine_gives_the_elements_of_the_plan_without_threads) {
  ForEach([](const Pipeline& pipeline) {
    const Came expected = All(pipeline.plain);
    CHECK(expected.whole && !expected.numbers.empty());
    for (int64_t rows : {1, 16, 1000}) {
      const bool same = All(pipeline.parallel, {}, rows) == expected;
      if (!same) std::fprintf(stderr, "%s\n", pipeline.name);
      CHECK(same);
    }
  });
}

TEST(Engine_gives_every_element_once_in_any_order) {
  RunOptions any;
  any.deterministic = false;
  ForEach([&](const Pipeline& pipeline) {
    if (pipeline.parallel->cardinality() < 0 || pipeline.name == std::string("shuffle of epochs"))
      return;
    const Came expected = All(pipeline.plain), came = All(pipeline.parallel, any);
    if (expected.numbers.size() != came.numbers.size()) std::fprintf(stderr, "%s\n", pipeline.name);
    CHECK_EQ(expected.numbers.size(), came.numbers.size());
    CHECK_EQ(expected.errors, came.errors);
  });
  const Came came = All(ParallelMap(Range(kMany), That(Does::kTriple), 8), any);
  CHECK(Sorted(came.numbers) == All(Map(Range(kMany), That(Does::kTriple))).numbers);
}

TEST(Engine_stays_within_a_small_memory_limit) {
  RunOptions small;
  small.memory_limit = 20 * kRowItems * 8;
  ForEach([&](const Pipeline& pipeline) {
    CHECK(All(pipeline.parallel, small) == All(pipeline.plain));
  });
}

TEST(Engine_closes_in_the_middle) {
  ForEach([](const Pipeline& pipeline) {
    for (int64_t steps : {0, 1, 5, 40}) {
      Session session(pipeline.parallel, {}, {});
      if (steps == 0) session.Warm();
      Pull(session, steps, 4);
      if (steps % 2) session.Close();  // otherwise the destructor closes it
    }
  });
}

TEST(Engine_ends_when_another_thread_cancels_it) {
  ForEach([](const Pipeline& pipeline) {
    for (int wait : {0, 100, 1000}) {
      DatasetPtr endless = Repeat(pipeline.parallel, -1);
      Session session(endless, {}, {});
      std::atomic<bool> begun{false};
      std::thread canceller([&] {
        while (!begun.load(std::memory_order_acquire)) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::microseconds(wait));
        session.Cancel();
      });
      begun.store(true, std::memory_order_release);
      const Came came = Pull(session, int64_t{1} << 40);
      CHECK(!came.whole);
      canceller.join();
    }
  });
}

// Stands for a thread that holds a foreign lock and whose user presses Ctrl-C now and then.
class Impatient final : public BlockingHook {
 public:
  void BeforeWait() override {}
  bool Interrupted() override { return ++asked_ % 3 == 0; }
  int asked() const { return asked_; }

 private:
  int asked_ = 0;
};

TEST(Engine_goes_on_after_interrupts) {
  ForEach([](const Pipeline& pipeline) {
    const Came expected = All(pipeline.plain);
    Impatient hook;
    ScopedBlockingHook scope(&hook);
    Session session(pipeline.parallel, {}, {});
    Came came;
    while (!came.whole) came += Pull(session, int64_t{1} << 40, 5);
    CHECK(came == expected);
  });
}

TEST(Engine_goes_on_from_a_state_that_was_taken_in_the_middle) {
  ForEach([](const Pipeline& pipeline) {
    const Came expected = All(pipeline.plain);
    const auto all = static_cast<int64_t>(expected.numbers.size()) + expected.errors;
    for (int64_t steps : {int64_t{0}, int64_t{1}, all / 3, all - 1}) {
      Came came;
      std::string state;
      {
        Session session(pipeline.parallel, {}, {});
        came = Pull(session, steps, 3);
        state = session.GetState({});
      }
      Session session(pipeline.parallel, {}, {});
      session.SetState(state);
      came += Pull(session, int64_t{1} << 40, 3);
      if (!(came == expected))
        std::fprintf(stderr, "%s after %lld\n", pipeline.name, static_cast<long long>(steps));
      CHECK(came == expected);
    }
  });
}

TEST(Engine_gives_the_same_elements_while_it_is_observed) {
  ForEach([](const Pipeline& pipeline) {
    const Came expected = All(pipeline.plain);
    Session session(pipeline.parallel, {}, {});
    Observation observation(session.shared_stats(), false);
    Observation another(session.shared_stats(), false);
    CHECK(Pull(session, 1 << 20) == expected);
    const Observed seen = observation.Stop();
    CHECK(!seen.after.empty());
    CHECK_EQ(seen.after.size(), seen.stages.size());
    CHECK(seen.after[0].steps > 0);
  });
}

TEST(Engine_runs_one_plan_in_several_threads_at_a_time) {
  ForEach([](const Pipeline& pipeline) {
    if (pipeline.name == std::string("shuffle of epochs")) return;  // each run draws its own order
    const Came expected = All(pipeline.plain);
    std::atomic<int> same{0};
    std::vector<std::thread> consumers;
    for (int i = 0; i < 3; ++i) {
      consumers.emplace_back([&] { same += All(pipeline.parallel) == expected; });
    }
    for (std::thread& consumer : consumers) consumer.join();
    CHECK_EQ(same.load(), 3);
  });
}

}  // namespace
}  // namespace penstock::testing
