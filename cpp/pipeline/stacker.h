// Assembles rows into one batch, without copying rows that already lie where they belong.
#pragma once

#include <optional>
#include <vector>

#include "element/element.h"

namespace penstock {

class Stacker {
 public:
  // `stage` names the caller in errors.
  explicit Stacker(const char* stage) : stage_(stage) {}

  int64_t rows() const { return rows_; }
  // At most so many rows are taken at a time; no fewer than there are.
  void SetCapacity(int64_t capacity) { capacity_ = capacity; }
  // Adds the rows of a block (its error and end are the caller's). A row that does not match the
  // first one is left out, and its error is returned; `rest` then holds the rows behind it.
  // `index` is the position of the block's first row in the input.
  std::optional<Error> Append(Block block, int64_t index, Block* rest);
  // All rows stacked along a new first axis; empty again afterwards.
  Element Take();

 private:
  struct Piece {
    std::vector<Tensor> columns;  // stacked
    int64_t rows;
    bool placed;
  };
  std::optional<Error> Mismatch(const std::vector<Tensor>& columns, const Structure* structure,
                                int64_t index) const;
  Tensor StackLeaf(size_t leaf, int64_t rows);
  // Copies large rows while they are still in the CPU's cache, instead of all at the end.
  void Absorb();

  const char* stage_;
  int64_t rows_ = 0;
  const Structure* structure_ = nullptr;
  Origin origin_;
  int64_t capacity_ = 1;
  std::vector<Piece> pieces_;
  std::vector<Tensor> assembled_;  // for each leaf the batch so far, when rows are copied at once
  size_t absorbed_ = 0;            // pieces in it
  int64_t absorbed_rows_ = 0;
};

}  // namespace penstock
