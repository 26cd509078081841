// Cutting blocks to the requested sizes.
#include "data/pending.h"

#include <algorithm>

namespace penstock {

void PendingBlocks::Add(Block block) {
  if (block.rows == 0 && !block.last()) return;
  steps_ += block.steps();
  blocks_.push_back(std::move(block));
}

void PendingBlocks::Add(std::vector<Block> blocks) {
  for (Block& block : blocks) Add(std::move(block));
}

Block PendingBlocks::Take(int64_t max_rows) {
  if (blocks_.empty()) return {};
  Block& front = blocks_.front();
  int64_t left = front.rows - taken_;
  Block block;
  if (taken_ == 0 && left <= max_rows && !(front.error && left > 0)) {
    block = std::move(front);
    blocks_.pop_front();
  } else {
    int64_t rows = std::min(left, max_rows);
    if (front.elements.empty()) {
      if (taken_ == 0) own_ = front.own_columns();
      block = front.Divide(taken_, rows, own_);
    } else {
      block.structure = front.structure;
      block.rows = rows;
      for (int64_t i = taken_; i < taken_ + rows; ++i) {
        block.elements.push_back(std::move(front.elements[i]));
      }
    }
    taken_ += rows;
    if (taken_ == front.rows) {
      // An error is a separate step, so a state between the rows and the error pulls nothing again.
      std::optional<Error> error = std::move(front.error);
      bool end = front.end;
      blocks_.pop_front();
      taken_ = 0;
      if (error) {
        blocks_.push_front(Block::Of(*std::move(error)));
        blocks_.front().end = end;
      } else {
        block.end = end;
      }
    }
  }
  steps_ -= block.steps();
  return block;
}

}  // namespace penstock
