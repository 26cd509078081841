// The memory of batches: who holds it.
#include "data/slab.h"

#include <vector>

#include "check.h"

namespace penstock {
namespace {

TEST(a_slab_whose_rows_were_all_given_out_is_held_by_its_rows_only) {
  Slabs slabs(3);
  std::vector<SlabRows> rows;
  for (int64_t row : {1, 0, 2}) rows.push_back(slabs.Row(row));
  CHECK(rows[0].slab == rows[1].slab && rows[1].slab == rows[2].slab);
  CHECK(rows[0].slab.use_count() == 3);
  CHECK(slabs.Row(3).slab != rows[0].slab);
}

TEST(the_last_slab_is_held_by_its_rows_only_though_it_is_not_full) {
  for (bool end_first : {false, true}) {
    Slabs slabs(3);
    if (end_first) slabs.EndAt(5);
    SlabRows third = slabs.Row(3);
    SlabRows fourth = slabs.Row(4);
    if (!end_first) slabs.EndAt(5);
    CHECK(fourth.Follow(third, 1));
    CHECK(third.slab.use_count() == 2);
  }
}

}  // namespace
}  // namespace penstock
