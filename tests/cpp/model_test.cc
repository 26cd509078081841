// Predict: its bounds, and its values near them, compared with closed forms.
#include "runtime/model.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "check.h"

namespace penstock {
namespace {

bool Near(double got, double expected, double share) {
  return std::abs(got - expected) <= share * expected;
}

TEST(Predict_of_nothing_that_takes_time_is_infinite) {
  CHECK(std::isinf(Predict({}, 2).rate));
  const std::vector<Section> idle(3);
  const Prediction p = Predict(idle, 2);
  CHECK(std::isinf(p.rate));
  CHECK_EQ(p.utilisation.size(), 3u);
  CHECK_EQ(p.utilisation[1], 0.0);
}

TEST(Predict_one_server_takes_its_time) {
  const Prediction p = Predict(std::vector<Section>{{1, 0.03, 0.02, 0.07, 0}}, 4);
  CHECK(Near(p.rate, 10, 1e-3));
  CHECK(p.bound == Bound::kSection);
  CHECK_EQ(p.section, 0);
  CHECK(Near(p.utilisation[0], 1, 1e-3));
}

TEST(Predict_servers_that_sleep_do_not_wait_for_each_other) {
  const Prediction p = Predict(std::vector<Section>{{100, 0, 0, 0.5, 0}}, 1);
  CHECK(Near(p.rate, 200, 1e-3));
}

TEST(Predict_the_slowest_section_is_named_and_the_others_have_time_left) {
  const Prediction p =
      Predict(std::vector<Section>{{1, 0.01, 0, 0, 0}, {1, 0.1, 0, 0, 0}, {1, 0.02, 0, 0, 0}}, 8);
  CHECK(p.bound == Bound::kSection);
  CHECK_EQ(p.section, 1);
  CHECK(Near(p.rate, 10, 1e-3));
  CHECK(Near(p.utilisation[0], 0.1, 1e-2));
  CHECK(Near(p.utilisation[1], 1, 1e-2));
}

TEST(Predict_processors_are_shared_by_all) {
  const Prediction p = Predict(std::vector<Section>{{4, 0.1, 0, 0, 0}, {1, 0.01, 0, 0, 0}}, 2);
  CHECK(p.bound == Bound::kProcessors);
  CHECK_EQ(p.section, -1);
  CHECK(Near(p.rate, 2 / 0.11, 0.01));
}

TEST(Predict_no_thread_computes_on_two_processors) {
  const Prediction p = Predict(std::vector<Section>{{2, 0.1, 0, 0.1, 0}}, 2);
  CHECK(Near(p.rate, 10, 1e-3));
}

TEST(Predict_the_gil_is_shared_by_all) {
  const std::vector<Section> sections{{8, 0.01, 0.01, 0, 0}, {1, 0.01, 0.01, 0, 0}};
  const Prediction p = Predict(sections, 16);
  CHECK(p.bound == Bound::kGil);
  CHECK(Near(p.rate, 50, 0.01));
}

TEST(Predict_a_serial_input_limits_all_servers) {
  const Prediction p = Predict(std::vector<Section>{{8, 0.1, 0, 0, 0.05}}, 16);
  CHECK(p.bound == Bound::kSerial);
  CHECK_EQ(p.section, 0);
  CHECK(Near(p.rate, 20, 0.02));
}

// The machine repair model, a closed form: `n` threads sleep for `z` and share one processor for
// `d`.
double Repairmen(int n, double d, double z) {
  double rate = 0;
  double queue = 0;
  for (int k = 1; k <= n; ++k) {
    const double at_processor = d * (1 + queue);
    rate = k / (at_processor + z);
    queue = rate * at_processor;
  }
  return rate;
}

TEST(Predict_threads_that_get_into_each_others_way_reach_less_than_the_bound) {
  for (const int threads : {2, 3, 4, 8, 16}) {
    for (const double sleep : {0.5, 1.0, 4.0}) {
      const double exact = Repairmen(threads, 1, sleep);
      const Prediction processor = Predict(std::vector<Section>{{threads, 1, 0, sleep, 0}}, 1);
      CHECK(Near(processor.rate, exact, 0.08));
      const Prediction gil = Predict(std::vector<Section>{{threads, 1, 1, sleep, 0}}, 1e6);
      CHECK(Near(gil.rate, exact, 0.08));
    }
  }
}

TEST(Predict_more_of_anything_is_never_slower) {
  const Section map{4, 0.02, 0.004, 0.03, 0.002};
  const Section consumer{1, 0.004, 0.001, 0.001, 0};
  double before = 0;
  for (int servers = 1; servers <= 64; ++servers) {
    Section wider = map;
    wider.servers = servers;
    const double rate = Predict(std::vector<Section>{wider, consumer}, 8).rate;
    CHECK(rate >= before * (1 - 1e-4));
    before = rate;
  }
  before = 0;
  for (double processors = 0.25; processors <= 64; processors *= 1.5) {
    const double rate = Predict(std::vector<Section>{map, consumer}, processors).rate;
    CHECK(rate >= before * (1 - 1e-4));
    before = rate;
  }
}

TEST(Predict_takes_any_size) {
  CHECK(Predict(std::vector<Section>{{1 << 20, 1e-9, 0, 1e3, 1e-9}}, 0.01).rate > 0);
  CHECK(Predict(std::vector<Section>{{1, 1e6, 1e6, 0, 1e6}}, 256).rate > 0);
  const std::vector<Section> many(200, {1, 1e-3, 1e-4, 1e-3, 1e-3});
  CHECK(Near(Predict(many, 256).rate, 1 / (200 * 1e-4), 0.05));
}

// Two threads with a buffer between them: the mean time per element for which the consumer finds
// the buffer empty. The times to make and to use an element differ only in their means.
double SimulatedStarving(double make, double use, double share, int buffer,
                         std::mt19937_64& random) {
  std::vector<double> taken(static_cast<size_t>(buffer), 0);  // of the last `buffer` elements
  double made_at = 0, used_at = 0, starved = 0;
  std::uniform_real_distribution<> drawn;
  constexpr int kElements = 200'000;
  for (int i = 0; i < kElements; ++i) {
    const auto slot = static_cast<size_t>(i % buffer);
    const auto took = [&](double mean) { return mean * (drawn(random) < share ? 1 / share : 0); };
    made_at = std::max(made_at, taken[slot]) + took(make);  // room once that one was taken
    starved += std::max(made_at - used_at, 0.0);
    taken[slot] = std::max(made_at, used_at);
    used_at = taken[slot] + took(use);
  }
  return starved / kElements;
}

TEST(Buffers_that_are_small_for_how_much_times_vary_are_found_empty) {
  std::mt19937_64 random(3);
  for (const double make : {0.5, 0.9, 1.0}) {
    for (const double share : {0.1, 0.3}) {
      // A time is either 0 or the mean divided by `share`.
      const double squared = 1 / share - 1;
      const Varied made{make, make * make * squared};
      const Varied used{1, squared};
      for (const int buffer : {8, 32, 64}) {
        const double seen = SimulatedStarving(make, 1, share, buffer, random);
        const double said = StarvedSeconds(made, used, buffer);
        // Near the ends of the buffer, its level is not a Brownian motion.
        CHECK(said > seen / 2.5 - 0.01);
        CHECK(said < seen * 2.5 + 0.01);
      }
    }
  }
}

TEST(Buffers_as_the_model_wants_them_are_hardly_found_empty) {
  std::mt19937_64 random(5);
  for (const double make : {0.3, 0.6, 0.8}) {
    const double squared = 1 / 0.3 - 1;
    const int64_t size = BufferFor({make, make * make * squared}, {1, squared}, 1 << 12);
    const double seen = SimulatedStarving(make, 1, 0.3, static_cast<int>(size), random);
    CHECK(seen < 0.03);
  }
}

TEST(Buffers_need_no_more_than_two_elements_where_nothing_varies) {
  CHECK_EQ(BufferFor({1, 0}, {1, 0}, 64), 2);
  CHECK_EQ(BufferFor({}, {}, 64), 2);
  CHECK_EQ(BufferFor({1, 1e6}, {1, 0}, 64), 64);
  CHECK_EQ(BufferFor({1, 1e6}, {1, 0}, 1), 1);
  CHECK_EQ(StarvedSeconds({1, 0}, {2, 0}, 4), 0.0);
  CHECK(Near(StarvedSeconds({1, 3}, {1, 1}, 4), 0.5, 1e-6));
  CHECK(StarvedSeconds({1, 3}, {2, 1}, 4) < StarvedSeconds({1, 3}, {1, 1}, 4));
}

TEST(Times_of_groups_say_how_far_one_element_varies) {
  std::mt19937_64 random(7);
  std::normal_distribution<> drawn(1e6, 3e5);
  ElementTimes alone, together;
  for (int i = 0; i < 3000; ++i) {
    alone.Add(static_cast<int64_t>(drawn(random)), 1);
    double sum = 0;
    const int group = 1 + i % 7;
    for (int k = 0; k < group; ++k) sum += drawn(random);
    together.Add(static_cast<int64_t>(sum), group);
  }
  for (const Varied& each : {alone.Get(), together.Get()}) {
    CHECK(Near(each.mean, 1e-3, 0.03));
    CHECK(Near(std::sqrt(each.variance), 3e-4, 0.15));
  }
  CHECK_EQ(ElementTimes().Get().mean, 0.0);
  for (int i = 0; i < 60'000; ++i) alone.Add(5'000'000, 1);
  CHECK(Near(alone.Get().mean, 5e-3, 0.01));  // the work has changed
  CHECK(std::sqrt(alone.Get().variance) < 5e-4);
}

}  // namespace
}  // namespace penstock
