// Blocks that were produced but not delivered, returned in the requested sizes.
#pragma once

#include <deque>
#include <vector>

#include "data/block.h"

namespace penstock {

class PendingBlocks {
 public:
  bool empty() const { return blocks_.empty(); }
  // Waiting elements and errors.
  int64_t steps() const { return steps_; }
  void Add(std::vector<Block> blocks);
  void Add(Block block);
  // Returns at most `max_rows` rows of the first block. Its end is returned with its last row, its
  // error separately.
  Block Take(int64_t max_rows);

 private:
  std::deque<Block> blocks_;
  int64_t taken_ = 0;      // rows of the first block
  std::vector<bool> own_;  // of its columns, before the first row was taken
  int64_t steps_ = 0;
};

}  // namespace penstock
