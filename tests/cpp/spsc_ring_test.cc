// SpscRing: order, limits, counters that wrap, ownership, and two threads at once.
#include "runtime/spsc_ring.h"

#include <memory>
#include <thread>

#include "check.h"
#include "runtime/wait.h"

namespace penstock {
namespace {

constexpr uint64_t kNearWrap = ~uint64_t{0} - 2;  // 2^64 - 3

TEST(SpscRing_capacity_is_a_power_of_two_and_limit_what_was_asked) {
  CHECK_EQ(SpscRing<int>(5).capacity(), 8u);
  CHECK_EQ(SpscRing<int>(5).limit(), 5u);
  CHECK_EQ(SpscRing<int>(0).capacity(), 1u);
  SpscRing<int> ring(4);
  ring.set_limit(100);
  CHECK_EQ(ring.limit(), 4u);
  ring.set_limit(0);
  CHECK_EQ(ring.limit(), 1u);
}

TEST(SpscRing_keeps_order_over_the_wrap_of_its_counters) {
  SpscRing<int> ring(4, 3, kNearWrap);
  int x = -1;
  int next_in = 0;
  int next_out = 0;
  for (int round = 0; round < 10; ++round) {
    while (ring.try_push(int(next_in))) ++next_in;
    CHECK_EQ(ring.size(), 3u);
    CHECK(!ring.has_room());
    while (ring.try_pop(x)) CHECK_EQ(x, next_out++);
    CHECK(ring.empty());
  }
  CHECK_EQ(next_out, 30);
}

TEST(SpscRing_limit_changes_while_full_and_while_empty) {
  SpscRing<int> ring(8, 4, kNearWrap);
  int x = -1;
  for (int i = 0; i < 4; ++i) CHECK(ring.try_push(int(i)));
  ring.set_limit(2);  // the ring is full: no element is lost
  CHECK(!ring.try_push(99));
  CHECK(ring.try_pop(x) && x == 0);
  CHECK(ring.try_pop(x) && x == 1);
  CHECK(!ring.try_push(99));
  CHECK(ring.try_pop(x) && x == 2);
  CHECK(ring.try_push(4));
  CHECK(!ring.try_push(99));
  ring.set_limit(8);
  for (int i = 5; i < 11; ++i) CHECK(ring.try_push(int(i)));
  CHECK(!ring.try_push(99));
  for (int i = 3; i < 11; ++i) CHECK(ring.try_pop(x) && x == i);
  ring.set_limit(1);  // the ring is empty
  CHECK(ring.try_push(11));
  CHECK(!ring.try_push(99));
  CHECK(ring.try_pop(x) && x == 11);
}

TEST(SpscRing_failed_push_leaves_the_value) {
  SpscRing<std::unique_ptr<int>> ring(1);
  CHECK(ring.try_push(std::make_unique<int>(1)));
  auto kept = std::make_unique<int>(2);
  CHECK(!ring.try_push(std::move(kept)));
  CHECK(kept != nullptr && *kept == 2);
}

TEST(SpscRing_destroys_values_at_pop_and_at_its_end) {
  const auto value = std::make_shared<int>(1);
  {
    SpscRing<std::shared_ptr<int>> ring(4, 4, kNearWrap);
    for (int i = 0; i < 4; ++i) ring.try_push(std::shared_ptr<int>(value));
    CHECK_EQ(value.use_count(), 5);
    std::shared_ptr<int> x;
    ring.try_pop(x);
    x.reset();
    CHECK_EQ(value.use_count(), 4);
  }
  CHECK_EQ(value.use_count(), 1);
}

// Both sides sleep at times, and the limit changes all the time. All `values` must arrive in order.
void Stream(size_t capacity, int values) {
  SpscRing<std::unique_ptr<int>> ring(capacity, 0, kNearWrap);
  EventCount not_empty;
  EventCount not_full;
  const CancelToken never;
  std::thread producer([&] {
    for (int i = 0; i < values; ++i) {
      auto x = std::make_unique<int>(i);
      WaitUntil(not_full, never, [&] { return ring.try_push(std::move(x)); });
      not_empty.NotifyOne();
    }
  });
  bool in_order = true;
  std::unique_ptr<int> x;
  for (int i = 0; i < values; ++i) {
    WaitUntil(not_empty, never, [&] { return ring.try_pop(x); });
    in_order = in_order && x != nullptr && *x == i;
    if (i % 7 == 0) ring.set_limit(1 + static_cast<size_t>(i) % capacity);
    not_full.NotifyOne();
  }
  producer.join();
  CHECK(in_order);
  CHECK(ring.empty());
}

TEST(SpscRing_two_threads_capacity_1) { Stream(1, 50'000); }
TEST(SpscRing_two_threads_capacity_4) { Stream(4, 100'000); }
TEST(SpscRing_two_threads_capacity_256) { Stream(256, 200'000); }

TEST(SpscRing_limit_changed_by_a_third_thread) {
  constexpr int kValues = 100'000;
  SpscRing<int> ring(16, 1, kNearWrap);
  EventCount not_empty;
  EventCount not_full;
  const CancelToken never;
  std::atomic<bool> stop{false};
  std::atomic<size_t> most{0};
  std::thread producer([&] {
    for (int i = 0; i < kValues; ++i) {
      WaitUntil(not_full, never, [&] { return ring.try_push(int(i)); });
      not_empty.NotifyOne();
    }
  });
  std::thread tuner([&] {
    for (size_t i = 0; !stop.load(std::memory_order_relaxed); ++i) {
      ring.set_limit(1 + i % 16);
      not_full.NotifyAll();
      most.store(std::max(most.load(), ring.size()));
      std::this_thread::yield();
    }
  });
  bool in_order = true;
  for (int i = 0; i < kValues; ++i) {
    int x = -1;
    WaitUntil(not_empty, never, [&] { return ring.try_pop(x); });
    in_order = in_order && x == i;
    not_full.NotifyOne();
  }
  stop.store(true, std::memory_order_relaxed);
  producer.join();
  tuner.join();
  CHECK(in_order);
  CHECK(most.load() <= 16);
}

}  // namespace
}  // namespace penstock
