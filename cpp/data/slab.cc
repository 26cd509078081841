// Assigning rows in the memory of batches.
#include "data/slab.h"

#include <algorithm>

namespace penstock {

Tensor Slab::Rows(size_t leaf, DType dtype, const Shape& row, int64_t first, int64_t count) {
  if (dtype.is_reference() || row.rank() == kMaxRank) return {};
  std::lock_guard lock(mutex_);
  if (memory_) {
    if (columns_.size() <= leaf) columns_.resize(leaf + 1);
    if (!columns_[leaf].buffer()) {
      columns_[leaf] = Tensor::Make(dtype, row.Prepend(rows_), memory_);
    }
  } else if (columns_.size() <= leaf || !columns_[leaf].buffer()) {
    return {};
  }
  const Tensor& column = columns_[leaf];
  if (column.dtype() != dtype || !(column.shape().WithoutFirst() == row)) return {};
  return column.Rows(first, count);
}

bool SlabRows::AreWorthwhile(const std::vector<Tensor>& leaves) {
  return std::ranges::any_of(leaves, [](const Tensor& leaf) {
    return leaf.storage() == Storage::kDense && leaf.shape().rank() > 0;
  });
}

SlabRows Slabs::Row(int64_t row) {
  std::lock_guard lock(mutex_);
  const int64_t number = row / rows_;
  auto open = std::ranges::find(open_, number, &Open::number);
  if (open == open_.end()) {
    // Producers are only a few batches apart, so older slabs are full except for failed rows. If
    // one is not full after all, its remaining rows get another slab, whose rows do not follow
    // those of the old one.
    constexpr size_t kMostOpen = 8;
    if (open_.size() > kMostOpen) open_.erase(open_.begin());
    open = open_.insert(open_.end(), {number, std::make_shared<Slab>(rows_, memory_), 0});
  }
  SlabRows rows{open->slab, row % rows_};
  ++open->given;
  if (IsGivenOut(*open)) open_.erase(open);
  return rows;
}

void Slabs::EndAt(int64_t rows) {
  std::lock_guard lock(mutex_);
  end_ = rows;
  std::erase_if(open_, [this](const Open& open) { return IsGivenOut(open); });
}

}  // namespace penstock
