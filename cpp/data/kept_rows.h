// Rows in memory, accessed by index.
#pragma once

#include <cstdint>
#include <vector>

#include "data/block.h"

namespace penstock {

// Keeps blocks unchanged and shares them with the slices it returns; only rows in element form are
// joined. Errors and ends are dropped.
class KeptRows {
 public:
  void Add(Block block);
  int64_t rows() const { return rows_; }
  size_t bytes() const;
  const std::vector<Block>& blocks() const { return blocks_; }
  // Returns up to `max_rows` rows starting at `first`, which exists: as many as are in one block.
  Block Slice(int64_t first, int64_t max_rows) const;

 private:
  std::vector<Block> blocks_;    // each has rows
  std::vector<int64_t> starts_;  // index of the first row of each
  int64_t rows_ = 0;
};

}  // namespace penstock
