// Collects rows of several inputs into one block.
#pragma once

#include <vector>

#include "engine/row_cursor.h"

namespace penstock {

// Stacks the rows if all are small numbers of one shape without a file; otherwise keeps them
// separate.
class GatheredRows {
 public:
  // Whether the next row of `from` can join the block, which will have at most `most` rows.
  bool Fits(const RowCursor& from, int64_t most);
  void Add(RowCursor& from);
  int64_t rows() const { return block_.rows; }
  // Returns the block and clears it.
  Block Take();

 private:
  Block block_;
  std::vector<size_t> row_bytes_;  // of each column
  bool stacks_ = false;            // this block
  bool joins_ = true;              // so far, all rows fit into one block
};

}  // namespace penstock
