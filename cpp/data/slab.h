// Slabs: the memory of batches that are being filled. Producers write rows directly into it, so
// that stacking needs no copy.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "data/tensor.h"

namespace penstock {

// The columns of one batch. Thread-safe.
class Slab {
 public:
  explicit Slab(int64_t rows, Tensor::Memory memory = &Buffer::Allocate)
      : rows_(rows), memory_(memory) {}
  // A slab with exactly these columns. No others are added, because their owner would not know of
  // them.
  Slab(int64_t rows, std::vector<Tensor> columns)
      : rows_(rows), memory_(nullptr), columns_(std::move(columns)) {}
  int64_t rows() const { return rows_; }
  // Returns `count` rows of a leaf starting at row `first`, stacked. The first call for a leaf
  // determines its dtype and shape. Returns an empty tensor for rows of another dtype or shape, and
  // for references.
  Tensor Rows(size_t leaf, DType dtype, const Shape& row, int64_t first, int64_t count);

 private:
  const int64_t rows_;
  const Tensor::Memory memory_;  // for new columns; null: none can be added
  std::mutex mutex_;             // a leaf lock
  std::vector<Tensor> columns_;
};

// The location of consecutive rows: in a slab starting at row `first`, or in none.
struct SlabRows {
  std::shared_ptr<Slab> slab;
  int64_t first = 0;

  explicit operator bool() const { return slab != nullptr; }
  // Whether they start `count` rows after the start of `others`.
  bool Follow(const SlabRows& others, int64_t count) const {
    return slab && slab == others.slab && first == others.first + count;
  }
  // Whether rows with these leaves should use a slab: yes, if one leaf is an array. Scalars next to
  // arrays are then also in the slab, because otherwise the whole row would be copied again. For
  // scalars alone, the lock costs too much.
  static bool AreWorthwhile(const std::vector<Tensor>& leaves);
};

// The slabs of consecutive batches, whose rows are produced in any order. Thread-safe.
class Slabs {
 public:
  explicit Slabs(int64_t rows, Tensor::Memory memory = &Buffer::Allocate)
      : rows_(rows), memory_(memory) {}
  // A single slab, for its first row.
  explicit Slabs(std::shared_ptr<Slab> slab) : Slabs(slab->rows()) {
    open_.push_back({0, std::move(slab), 0});
  }
  // Returns the location of row `row`, counted over all batches. Call once per row.
  SlabRows Row(int64_t row);
  // Sets the total number of rows: the last batch may have fewer than the others.
  void EndAt(int64_t rows);

 private:
  struct Open {
    int64_t number;  // index of the batch
    std::shared_ptr<Slab> slab;
    int64_t given;  // number of its rows requested
  };
  // Whether all its rows have been requested. Such a slab is released here, so that the batch is
  // the only owner of its memory.
  bool IsGivenOut(const Open& open) const {
    return open.given >= std::min(rows_, end_ - open.number * rows_);
  }

  const int64_t rows_;  // per batch
  const Tensor::Memory memory_;
  std::mutex mutex_;  // a leaf lock
  int64_t end_ = std::numeric_limits<int64_t>::max();
  std::vector<Open> open_;
};

}  // namespace penstock
