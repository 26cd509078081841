// Rows that are kept in memory, by their numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "data/block.h"

namespace penstock {

// Keeps the blocks as they came and shares them with what is taken out; only rows in element form
// are joined. Errors and ends are not kept.
class KeptRows {
 public:
  void Add(Block block);
  int64_t rows() const { return rows_; }
  size_t bytes() const;
  const std::vector<Block>& blocks() const { return blocks_; }
  // At most `max_rows` rows from row `first` on, which there is: as many as stand together.
  Block Slice(int64_t first, int64_t max_rows) const;

 private:
  std::vector<Block> blocks_;    // each with rows
  std::vector<int64_t> starts_;  // the number of the first row of each
  int64_t rows_ = 0;
};

}  // namespace penstock
