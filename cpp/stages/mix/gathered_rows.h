// Rows of several inputs side by side in one block.
#pragma once

#include <vector>

#include "engine/row_cursor.h"

namespace penstock {

// Stacks the rows if all are small numbers of one shape and from no file; otherwise they stay one
// by one.
class GatheredRows {
 public:
  // Whether the next row of `from` can join the block, which will have `most` rows at most.
  bool Fits(const RowCursor& from, int64_t most);
  void Add(RowCursor& from);
  int64_t rows() const { return block_.rows; }
  // The block so far; empty again afterwards.
  Block Take();

 private:
  Block block_;
  std::vector<size_t> row_bytes_;  // of each column
  bool stacks_ = false;            // this block
  bool joins_ = true;              // all that came could stand in one block
};

}  // namespace penstock
