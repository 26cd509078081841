// The memory of batches. Whoever makes their rows writes into it, so that nothing is copied to
// stack them.
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
  // Of columns that there are already, and of no others: who gave them would not know of those.
  Slab(int64_t rows, std::vector<Tensor> columns)
      : rows_(rows), memory_(nullptr), columns_(std::move(columns)) {}
  int64_t rows() const { return rows_; }
  // `count` rows of a leaf from row `first` on, stacked. The first call for a leaf says what its
  // rows are; the tensor is empty for rows of another dtype or shape, and for references.
  Tensor Rows(size_t leaf, DType dtype, const Shape& row, int64_t first, int64_t count);

 private:
  const int64_t rows_;
  const Tensor::Memory memory_;  // of columns to come; null: none comes
  std::mutex mutex_;             // a leaf lock
  std::vector<Tensor> columns_;
};

// Where consecutive rows lie: in a slab from row `first` on, or in none.
struct SlabRows {
  std::shared_ptr<Slab> slab;
  int64_t first = 0;

  explicit operator bool() const { return slab != nullptr; }
  // Whether they begin `count` rows after where `others` begin.
  bool Follow(const SlabRows& others, int64_t count) const {
    return slab && slab == others.slab && first == others.first + count;
  }
  // Whether `leaves` are worth a slab: they are if one is an array. Scalars beside arrays lie in
  // the slab too, because otherwise the whole row would be copied once more; scalars alone are not
  // worth the lock.
  static bool AreWorthwhile(const std::vector<Tensor>& leaves);
};

// The slabs of consecutive batches, whose rows are made in any order. Thread-safe.
class Slabs {
 public:
  explicit Slabs(int64_t rows, Tensor::Memory memory = &Buffer::Allocate)
      : rows_(rows), memory_(memory) {}
  // Of one slab, for its first row.
  explicit Slabs(std::shared_ptr<Slab> slab) : Slabs(slab->rows()) {
    open_.push_back({0, std::move(slab), 0});
  }
  // Where row number `row`, counted over all batches, lies; each row is asked for once.
  SlabRows Row(int64_t row);
  // The batches have `rows` rows altogether: the last one may have fewer than the others.
  void EndAt(int64_t rows);

 private:
  struct Open {
    int64_t number;  // of the batch
    std::shared_ptr<Slab> slab;
    int64_t given;  // rows of it
  };
  // Whether each row of it has been asked for. Nothing is held of such a slab: the batch is to be
  // the only holder of its memory.
  bool IsGivenOut(const Open& open) const {
    return open.given >= std::min(rows_, end_ - open.number * rows_);
  }

  const int64_t rows_;  // of each
  const Tensor::Memory memory_;
  std::mutex mutex_;  // a leaf lock
  int64_t end_ = std::numeric_limits<int64_t>::max();
  std::vector<Open> open_;
};

}  // namespace penstock
