// When a separate thread pays, with invented times.
#include "runtime/hand_over.h"

#include <algorithm>

#include "check.h"

namespace penstock::testing {
namespace {

// A maker and a consumer. While there is a thread, the hand-over costs `cost` ns and the work of
// both takes `slower` times as long.
struct Loop {
  int64_t make, use, cost;
  double slower = 1;
  HandOver hand_over{};
  MonoTime now = 1;
  int64_t made_ns = 0, made = 0;
  int changes = 0;
  int64_t threads = 0;  // takes that came from a thread

  void Run(int64_t takes) {
    for (int64_t i = 0; i < takes; ++i) {
      const auto times = [&](int64_t ns) {
        return hand_over.pays() ? static_cast<int64_t>(static_cast<double>(ns) * slower) : ns;
      };
      threads += hand_over.pays();
      hand_over.Asked(now);
      // With a thread, the consumer waits only for the rest of the making, after its own use of the
      // element before.
      const int64_t making = times(make);
      now += hand_over.pays() ? std::max<int64_t>(making - times(use), 0) + cost : making;
      made_ns += making;
      made += 4;
      changes += hand_over.Took(now, 4, made_ns, made);
      now += times(use);
    }
  }
};

TEST(HandOver_pays_where_both_sides_take_long) {
  for (auto [make, use] :
       {std::pair{1'000'000, 1'000'000}, {2'000'000, 500'000}, {1'500'000, 50'000'000}}) {
    Loop loop{make, use, 50'000};
    loop.Run(20'000);
    CHECK(loop.hand_over.pays());
    CHECK_EQ(loop.changes, 0);
  }
}

TEST(HandOver_tries_seldom_what_is_quick_where_a_thread_pays) {
  for (auto [make, use] : {std::pair{90'000, 90'000}, {200'000, 900'000}, {900'000, 200'000}}) {
    Loop loop{make, use, 50'000};
    loop.Run(20'000);
    CHECK(loop.hand_over.pays());
    CHECK(loop.changes > 0);
    CHECK(loop.threads > 19'700);
  }
}

TEST(HandOver_finds_that_a_thread_slows_both_sides_down) {
  for (auto [make, use] : {std::pair{25'000, 40'000}, {40'000, 25'000}, {8'000, 80'000}}) {
    Loop loop{make, use, 10'000, 2.5};
    loop.Run(20'000);
    CHECK(!loop.hand_over.pays());
    CHECK(loop.threads < 400);
  }
}

TEST(HandOver_is_not_misled_by_pauses) {
  Loop loop{90'000, 60'000, 10'000};
  for (int i = 0; i < 200; ++i) {
    loop.Run(37 + i);
    loop.now += 5'000'000'000;
  }
  CHECK(loop.threads > 26'000);  // of 27,300
}

TEST(HandOver_does_not_pay_where_a_side_is_quicker_than_a_wake_up) {
  for (auto [make, use] : {std::pair{3'000, 500}, {500, 100'000}, {40'000, 40'000}}) {
    Loop loop{make, use, 50'000};
    loop.Run(20'000);
    CHECK(!loop.hand_over.pays());
    CHECK_EQ(loop.changes, 1);
  }
}

TEST(HandOver_finds_soon_that_a_thread_costs_much_more_than_it_saves) {
  Loop loop{3'000, 500, 50'000};
  loop.Run(40);
  CHECK(!loop.hand_over.pays());
}

TEST(HandOver_counts_takes_that_were_not_timed) {
  Loop loop{3'000, 500, 50'000};
  loop.Run(1'000);
  CHECK(!loop.hand_over.pays());
  loop.make = 2'000'000;
  for (const int64_t use : {500, 2'000'000}) {
    loop.use = use;
    for (int i = 0; i < 1'000 && !loop.hand_over.pays(); ++i) {  // one take in four is timed
      for (int untimed = 0; untimed < 3; ++untimed) {
        loop.now += loop.make + loop.use;
        loop.hand_over.TookUntimed(4);
      }
      loop.Run(1);
    }
    // If the rows of the untimed takes were not counted, the time of making them would look like
    // use.
    CHECK_EQ(loop.hand_over.pays(), use > 500);
  }
  CHECK_EQ(loop.changes, 2);
}

TEST(HandOver_lets_a_thread_be_where_the_difference_is_small) {
  Loop loop{10'000'000, 0, 50'000};  // costs a hundredth of the waiting time
  loop.Run(1'000);
  CHECK(loop.hand_over.pays());
}

TEST(HandOver_notices_that_the_load_has_changed) {
  Loop loop{3'000, 500, 50'000};
  loop.Run(1'000);
  CHECK(!loop.hand_over.pays());
  loop.make = 2'000'000;
  loop.Run(1'000);  // with a quick consumer a thread would gain nothing
  CHECK(!loop.hand_over.pays());
  loop.use = 2'000'000;
  loop.Run(1'000);
  CHECK(loop.hand_over.pays());
  loop.make = loop.use = 1'000;
  loop.Run(10'000);
  CHECK(!loop.hand_over.pays());
  CHECK_EQ(loop.changes, 3);
}

TEST(HandOver_changes_ever_more_seldom_where_the_load_swings) {
  Loop loop{3'000, 500, 50'000};
  for (int i = 0; i < 500; ++i) {
    loop.make = loop.use = i % 2 ? 1'000 : 1'000'000;
    loop.Run(200);
  }
  CHECK(loop.changes >= 2);
  CHECK(loop.changes < 12);
}

TEST(HandOver_decides_nothing_while_all_that_is_taken_was_there_before) {
  HandOver hand_over;
  MonoTime now = 1;
  for (int i = 0; i < 10'000; ++i) {
    hand_over.Asked(now);
    now += 40'000;
    CHECK(!hand_over.Took(now, 1, 77, 5));
  }
  CHECK(hand_over.pays());
}

// Two makers that slow each other down by the factor `slower`, and also wait.
struct Shared {
  int64_t make, use;
  double slower;
  HandOver hand_over;
  MonoTime now = 1;
  int64_t made_ns = 0, made = 0;
  int64_t threads = 0;  // takes that came from the threads

  void Run(int64_t takes) {
    for (int64_t i = 0; i < takes; ++i) {
      hand_over.Asked(now);
      const bool pays = hand_over.pays();
      threads += pays;
      const auto each = pays ? static_cast<int64_t>(static_cast<double>(make) * slower) : make;
      now += pays ? each * 7 / 10 : each;
      made_ns += each;
      made += 4;
      hand_over.Took(now, 4, made_ns, made, 2);
      now += use;
    }
  }
};

TEST(HandOver_finds_that_one_side_alone_is_faster_than_makers_that_slow_each_other_down) {
  Shared loop{100'000, 1'000, 1.7, {}};
  loop.Run(10'000);
  CHECK(!loop.hand_over.pays());
  CHECK(loop.threads < 300);
}

TEST(HandOver_goes_back_where_makers_are_faster_though_they_gain_little) {
  Shared loop{100'000, 1'000, 1.2, {}};
  loop.Run(100'000);
  CHECK(loop.threads > 90'000);
}

TEST(HandOver_waits_until_no_more_rows_come_at_a_time) {
  HandOver hand_over;
  MonoTime now = 1;
  int64_t made = 0;
  for (int64_t rows = 1; rows < 1000; rows *= 2) {
    for (int i = 0; i < 8; ++i) {  // the cost of each take is the hand-over
      hand_over.Asked(now);
      made += rows;
      CHECK(!hand_over.Took(now += 40'000, rows, 10 * made, made));
      now += 100;
    }
  }
  CHECK(hand_over.pays());
}

}  // namespace
}  // namespace penstock::testing
