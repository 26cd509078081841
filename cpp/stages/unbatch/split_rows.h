// The frame of stages that make many rows of each element.
#pragma once

#include <vector>

#include "data/pending.h"
#include "engine/input.h"

namespace penstock {

class SplitIterator : public BlockIterator {
 public:
  explicit SplitIterator(IteratorPtr input) : input_(std::move(input)) {}

  void VisitState(StateVisitor& visitor) override;

 protected:
  // The rows of element number `index`. What it throws comes instead of them.
  virtual std::vector<Block> Split(Element element, int64_t index) = 0;
  Block DoNextBlock(int64_t max_rows) override;

 private:
  Input input_;
  PendingBlocks rows_;
  int64_t index_ = 0;    // elements of the input so far
  int64_t given_ = 0;    // rows of the open one
  int64_t to_skip_ = 0;  // rows given before the state was saved
};

}  // namespace penstock
