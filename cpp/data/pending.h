// Blocks that are made but not delivered yet, given out as they are asked for.
#pragma once

#include <deque>
#include <vector>

#include "data/block.h"

namespace penstock {

class PendingBlocks {
 public:
  bool empty() const { return blocks_.empty(); }
  // Elements and errors that wait.
  int64_t steps() const { return steps_; }
  void Add(std::vector<Block> blocks);
  void Add(Block block);
  // At most `max_rows` rows of the first block; its end comes with its last row, its error alone.
  Block Take(int64_t max_rows);

 private:
  std::deque<Block> blocks_;
  int64_t taken_ = 0;      // rows of the first block
  std::vector<bool> own_;  // of its columns, before the first row was taken
  int64_t steps_ = 0;
};

}  // namespace penstock
