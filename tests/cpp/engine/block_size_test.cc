// How many rows are requested, depending on their cost.
#include "data/block_size.h"

#include "check.h"

namespace penstock {
namespace {

// The rows requested after `blocks` blocks that took `fixed` ns and another `each` ns per row.
int64_t RowsAfter(int blocks, Grain grain, int64_t fixed, int64_t each, int* together = nullptr) {
  for (int i = 0; i < blocks; ++i) {
    if (together) *together += grain.rows() > 1;
    grain.Learn(grain.rows(), fixed + grain.rows() * each);
  }
  return grain.rows();
}

TEST(cheap_rows_travel_together) {
  CHECK(RowsAfter(1000, Grain::Ahead(Lane::kNative), 100, 50) == kMostBlockRows);
  CHECK(RowsAfter(1000, Grain::Ahead(Lane::kPython), 100, 50) == kMostBlockRows);
  CHECK(RowsAfter(1000, Grain::AsWanted(), 100, 50) == kMostBlockRows);
}

TEST(slow_rows_travel_alone_but_for_trials_that_become_rare) {
  int together = 0;
  CHECK(RowsAfter(10'000, Grain::Ahead(Lane::kNative), 1000, 300'000, &together) == 1);
  CHECK(together >= 5 && together <= 20);
}

TEST(slow_rows_that_call_Python_are_never_tried_together) {
  int together = 0;
  CHECK(RowsAfter(10'000, Grain::Ahead(Lane::kPython), 1'000'000, 1, &together) == 1);
  CHECK(together == 0);
}

TEST(rows_that_wait_long_are_never_tried_together) {
  int together = 0;
  CHECK(RowsAfter(1000, Grain::Ahead(Lane::kNative), 50'000'000, 1, &together) == 1);
  CHECK(together == 0);
}

// Like a native function of hundreds of operations.
TEST(what_costs_the_same_for_one_row_and_for_many_gets_many) {
  for (int64_t fixed : {150'000, 500'000, 5'000'000}) {
    CHECK(RowsAfter(100, Grain::Ahead(Lane::kNative), fixed, fixed / 100) >= 32);
    CHECK(RowsAfter(100, Grain::AsWanted(), fixed, fixed / 100) >= 32);
  }
}

TEST(a_block_takes_little_longer_than_a_row_alone) {
  const int64_t rows = RowsAfter(1000, Grain::Ahead(Lane::kNative), 1'000'000, 10'000);
  CHECK(1'000'000 + rows * 10'000 <= 2 * 1'010'000);
}

TEST(rows_that_become_slow_travel_alone_again) {
  Grain grain = Grain::Ahead(Lane::kNative);
  for (int i = 0; i < 100; ++i) grain.Learn(grain.rows(), 500'000 + grain.rows() * 5'000);
  CHECK(grain.rows() > 1);
  grain.Learn(grain.rows(), grain.rows() * 1'000'000);
  CHECK(grain.rows() == 1);
}

TEST(cheap_rows_that_become_slow_travel_alone_at_once) {
  Grain grain = Grain::Ahead(Lane::kNative);
  for (int i = 0; i < 1000; ++i) grain.Learn(grain.rows(), 100 + grain.rows() * 50);
  CHECK(grain.rows() > 1);
  grain.Learn(grain.rows(), grain.rows() * 1'000'000);
  CHECK(grain.rows() == 1);
}

// A source whose blocks have one row says nothing about larger blocks.
TEST(a_trial_that_gets_fewer_rows_ends) {
  Grain grain = Grain::Ahead(Lane::kNative);
  for (int i = 0; i < 1000; ++i) grain.Learn(1, 300'000);
  CHECK(grain.rows() == 1);
}

}  // namespace
}  // namespace penstock
