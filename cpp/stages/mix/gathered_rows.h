// Rows of several inputs side by side in one block.
#pragma once

#include <vector>

#include "engine/input.h"

namespace penstock {

// An input of which blocks are pulled, and handed on row by row.
class PulledRows {
 public:
  explicit PulledRows(IteratorPtr iterator) : input_(std::move(iterator)) {}

  // Pulls at most `most` rows when none is left; whether there is one now.
  bool Fill(int64_t most);
  // Why there is none: the end, or an error, which is given once.
  Step Ending();
  // The block that the next row is in, and where.
  const Block& block() const { return block_; }
  int64_t at() const { return at_; }
  int64_t left() const { return block_.rows - at_; }
  Element Take();
  void Pass() { ++at_; }
  // What was pulled and not handed on is pulled again.
  void VisitState(StateVisitor& visitor);

 private:
  Input input_;
  Block block_;
  int64_t at_ = 0;  // of the next row
};

// Stacks them where all are small numbers of one shape and of no file; else they stay one by one.
class GatheredRows {
 public:
  // Whether the next row of `from` can join the block, which will have `most` rows at most.
  bool Fits(const PulledRows& from, int64_t most);
  void Add(PulledRows& from);
  int64_t rows() const { return block_.rows; }
  // The block so far; empty again afterwards.
  Block Take();

 private:
  Block block_;
  std::vector<size_t> row_bytes_;  // of each column
  bool stacks_ = false;            // this block
  bool alike_ = true;              // all that came could stand in one block
};

}  // namespace penstock
