// Base class of stages that split each element into rows.
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
  // Returns the rows of element number `index`. If it throws, the error replaces them.
  virtual std::vector<Block> Split(Element element, int64_t index) = 0;
  Block DoNextBlock(int64_t max_rows) override;

 private:
  Input input_;
  PendingBlocks rows_;
  int64_t index_ = 0;    // input elements so far
  int64_t given_ = 0;    // rows of the current one
  int64_t to_skip_ = 0;  // rows delivered before the state was saved
};

}  // namespace penstock
