// SlotRing: in order, out of order, limits, counters that wrap, and many producers at once.
#include "runtime/slot_ring.h"

#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "check.h"
#include "runtime/wait.h"

namespace penstock {
namespace {

constexpr uint64_t kNearWrap = ~uint64_t{0} - 2;  // 2^64 - 3

TEST(SlotRing_reads_in_order_what_was_filled_out_of_order) {
  SlotRing<int> ring(4, 0, kNearWrap);
  int x = -1;
  for (const int i : {2, 3, 1}) ring.publish(kNearWrap + i, int(i));
  CHECK(!ring.ready());
  CHECK(!ring.try_pop(x));
  ring.publish(kNearWrap, 0);
  for (int i = 0; i < 4; ++i) CHECK(ring.try_pop(x) && x == i);
  CHECK(!ring.try_pop(x));
  CHECK_EQ(ring.head(), kNearWrap + 4);
}

TEST(SlotRing_any_takes_the_oldest_ready_and_head_waits_for_the_straggler) {
  SlotRing<int> ring(4, 0, kNearWrap);
  int x = -1;
  uint64_t seq = 0;
  CHECK(!ring.try_pop_any(x, &seq));
  ring.publish(kNearWrap + 3, 3);
  ring.publish(kNearWrap + 1, 1);
  CHECK(ring.try_pop_any(x, &seq) && x == 1 && seq == kNearWrap + 1);
  CHECK(ring.try_pop_any(x, &seq) && x == 3 && seq == kNearWrap + 3);
  CHECK(!ring.try_pop_any(x, &seq));
  CHECK_EQ(ring.head(), kNearWrap);
  CHECK(!ring.has_room(kNearWrap + 4));
  ring.publish(kNearWrap, 0);
  CHECK(ring.try_pop_any(x, nullptr) && x == 0);
  CHECK_EQ(ring.head(), kNearWrap + 2);  // past 1, which is taken, up to 2, which is missing
  ring.publish(kNearWrap + 2, 2);
  CHECK(ring.try_pop(x) && x == 2);
  CHECK_EQ(ring.head(), kNearWrap + 4);
  CHECK(ring.has_room(kNearWrap + 7) && !ring.has_room(kNearWrap + 8));
}

TEST(SlotRing_all_slots_taken_before_head) {
  SlotRing<int> ring(2);
  int x = -1;
  ring.publish(1, 1);
  CHECK(ring.try_pop_any(x, nullptr) && x == 1);
  ring.publish(0, 0);
  CHECK(ring.try_pop_any(x, nullptr) && x == 0);
  CHECK_EQ(ring.head(), 2u);
  SlotRing<int> one(1);
  one.publish(0, 7);
  CHECK(one.try_pop_any(x, nullptr) && x == 7);
  CHECK_EQ(one.head(), 1u);
}

TEST(SlotRing_limit_lowered_under_finished_work_still_delivers_it) {
  SlotRing<int> ring(8, 8, kNearWrap);
  int x = -1;
  uint64_t seq = 0;
  ring.publish(kNearWrap + 7, 7);
  ring.set_limit(1);
  CHECK(!ring.has_room(kNearWrap + 1));
  CHECK(ring.try_pop_any(x, &seq) && x == 7);
  for (int i = 0; i < 7; ++i) ring.publish(kNearWrap + i, int(i));
  for (int i = 0; i < 7; ++i) CHECK(ring.try_pop(x) && x == i);
  CHECK_EQ(ring.head(), kNearWrap + 8);
  CHECK(ring.has_room(kNearWrap + 8) && !ring.has_room(kNearWrap + 9));
  ring.set_limit(3);
  CHECK(ring.has_room(kNearWrap + 10) && !ring.has_room(kNearWrap + 11));
}

TEST(SlotRing_destroys_values_at_pop_and_at_its_end) {
  const auto value = std::make_shared<int>(1);
  {
    SlotRing<std::shared_ptr<int>> ring(4);
    for (const int i : {0, 2, 3}) ring.publish(i, std::shared_ptr<int>(value));
    std::shared_ptr<int> x;
    ring.try_pop(x);
    ring.try_pop_any(x, nullptr);
    x.reset();
    CHECK_EQ(value.use_count(), 2);
  }
  CHECK_EQ(value.use_count(), 1);
}

// Producers draw numbers and wait for room; the consumer changes the limit while it reads.
void Stream(size_t capacity, int producers, int values, bool in_order) {
  SlotRing<std::unique_ptr<int>> ring(capacity, 0, kNearWrap);
  EventCount ready;
  EventCount room;
  const CancelToken never;
  std::atomic<int> next{0};
  std::vector<std::thread> threads;
  for (int p = 0; p < producers; ++p) {
    threads.emplace_back([&] {
      for (;;) {
        const int i = next.fetch_add(1, std::memory_order_relaxed);
        if (i >= values) return;
        const uint64_t seq = kNearWrap + static_cast<uint64_t>(i);
        WaitUntil(room, never, [&] { return ring.has_room(seq); });
        if (i % 5 == 0) std::this_thread::yield();
        ring.publish(seq, std::make_unique<int>(i));
        ready.NotifyOne();
      }
    });
  }
  std::vector<bool> seen(static_cast<size_t>(values));
  bool good = true;
  for (int n = 0; n < values; ++n) {
    std::unique_ptr<int> x;
    uint64_t seq = kNearWrap + static_cast<uint64_t>(n);
    WaitUntil(ready, never, [&] { return in_order ? ring.try_pop(x) : ring.try_pop_any(x, &seq); });
    const auto i = static_cast<size_t>(*x);
    good = good && !seen[i] && seq == kNearWrap + i && (!in_order || *x == n);
    seen[i] = true;
    if (n % 11 == 0) ring.set_limit(1 + static_cast<size_t>(n) % capacity);
    room.NotifyAll();
  }
  for (std::thread& t : threads) t.join();
  CHECK(good);
  CHECK_EQ(ring.head(), kNearWrap + static_cast<uint64_t>(values));
}

TEST(SlotRing_numbered_when_finished_flows_on_behind_work_that_takes_long) {
  SlotRing<int> ring(4, 3, kNearWrap);
  int x = -1;
  uint64_t begun = kNearWrap;
  CHECK(ring.has_room(begun++));  // an element that takes long
  for (int i = 0; i < 100; ++i) {
    CHECK(ring.has_room(begun++));
    CHECK(ring.has_room(begun++));
    CHECK(!ring.has_room(begun));  // one in progress, two not taken
    ring.publish_next(2 * i);
    ring.publish_next(2 * i + 1);
    CHECK(ring.try_pop_any(x, nullptr) && x == 2 * i);
    CHECK(ring.has_room(begun) && !ring.has_room(begun + 1));
    CHECK(ring.try_pop_any(x, nullptr) && x == 2 * i + 1);
    CHECK(!ring.try_pop_any(x, nullptr));
  }
  ring.publish_next(-7);
  CHECK(ring.try_pop_any(x, nullptr) && x == -7);
  CHECK_EQ(ring.head(), begun);
}

// One producer holds its first element until all others are done. The workers take turns, as in a
// parallel map: one waits for room and draws a number, and others may publish before it.
void StreamPastOne(size_t capacity, int producers, int values) {
  SlotRing<std::unique_ptr<int>> ring(capacity, 0, kNearWrap);
  EventCount ready;
  EventCount room;
  EventCount others;
  const CancelToken never;
  std::mutex input;
  int begun = 0;
  std::atomic<int> taken{0};
  std::atomic<bool> bounded{true};
  std::vector<std::thread> threads;
  for (int p = 0; p < producers; ++p) {
    threads.emplace_back([&] {
      for (;;) {
        int i;
        {
          const std::lock_guard lead(input);
          i = begun;
          if (i >= values) return;
          WaitUntil(room, never,
                    [&] { return ring.has_room(kNearWrap + static_cast<uint64_t>(i)); });
          ++begun;
          // relaxed: only a count, which may be behind the ring but never ahead of it
          if (i - taken.load(std::memory_order_relaxed) > static_cast<int>(capacity)) {
            bounded.store(false, std::memory_order_relaxed);
          }
        }
        if (i == 0) {
          WaitUntil(others, never, [&] {
            return taken.load(std::memory_order_acquire) == values - 1;  // pairs with the release
          });
        }
        if (i % 5 == 0) std::this_thread::yield();
        ring.publish_next(std::make_unique<int>(i));
        ready.NotifyOne();
      }
    });
  }
  std::vector<bool> seen(static_cast<size_t>(values));
  bool good = true;
  for (int n = 0; n < values; ++n) {
    std::unique_ptr<int> x;
    WaitUntil(ready, never, [&] { return ring.try_pop_any(x, nullptr); });
    const auto i = static_cast<size_t>(*x);
    good = good && !seen[i] && (i == 0) == (n == values - 1);
    seen[i] = true;
    room.NotifyAll();
    taken.store(n + 1, std::memory_order_release);  // pairs with the acquire load above
    if (n + 2 == values) others.NotifyAll();
  }
  for (std::thread& t : threads) t.join();
  CHECK(good);
  CHECK(bounded.load(std::memory_order_relaxed));
  CHECK_EQ(ring.head(), kNearWrap + static_cast<uint64_t>(values));
}

TEST(SlotRing_past_one_capacity_2) { StreamPastOne(2, 2, 20'000); }
TEST(SlotRing_past_one_capacity_8) { StreamPastOne(8, 4, 50'000); }
TEST(SlotRing_past_one_capacity_64) { StreamPastOne(64, 3, 50'000); }

TEST(SlotRing_in_order_capacity_1) { Stream(1, 2, 20'000, true); }
TEST(SlotRing_in_order_capacity_8) { Stream(8, 3, 50'000, true); }
TEST(SlotRing_any_order_capacity_8) { Stream(8, 3, 50'000, false); }
TEST(SlotRing_any_order_capacity_64) { Stream(64, 4, 50'000, false); }

}  // namespace
}  // namespace penstock
