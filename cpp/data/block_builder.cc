// Writing rows to their destination.
#include "data/block_builder.h"

#include <cstring>
#include <utility>

#include "runtime/blocking.h"

namespace penstock {

Tensor BlockBuilder::MemoryFor(size_t leaf, DType dtype, const Shape& shape) {
  if (lent_.size() <= leaf) lent_.resize(leaf + 1);
  Tensor& lent = lent_[leaf];
  lent = {};
  if (dtype.is_reference() || shape.rank() == kMaxRank) return Tensor::Make(dtype, shape);
  if (slabs_) {
    if (shape.rank() > 0) lent = InSlab(leaf, dtype, shape);
  } else if (left_ > 1 || open_.rows > 0) {
    if (columns_.size() <= leaf) columns_.resize(leaf + 1);
    Tensor& column = columns_[leaf];
    if (open_.rows == 0) column = Tensor::Make(dtype, shape.Prepend(left_));
    bool fits =
        column.buffer() && column.dtype() == dtype && column.shape().WithoutFirst() == shape;
    if (fits) lent = column.Rows(open_.rows, 1);
  }
  return lent.buffer() ? lent.Reshaped(shape) : Tensor::Make(dtype, shape);
}

void BlockBuilder::Add(Element row) {
  if (slabs_ || !AddToColumns(row)) return AddAlone(std::move(row));
  Passed(1);
}

void BlockBuilder::AddAlone(Element row) {
  CloseColumns();
  if (slabs_ && SlabRows::AreWorthwhile(row.leaves)) {
    AddToSlab(std::move(row));
  } else {
    Block block = Block::Of(std::move(row));
    if (done_.empty() || !done_.back().Concat(block)) done_.push_back(std::move(block));
  }
  Passed(1);
}

void BlockBuilder::Add(Block rows) {
  const int64_t count = rows.rows;
  done_.push_back(std::move(rows));
  Passed(count);
}

void BlockBuilder::AddError(Error error) {
  CloseColumns();
  Passed(1);
  if (done_.empty() || done_.back().last()) done_.emplace_back();
  done_.back().error = std::move(error);
}

void BlockBuilder::Finish(std::vector<Block>& out) {
  CloseColumns();
  if (!copies_.empty()) LeaveForeignLock();
  for (Copy& copy : copies_) {
    std::memcpy(copy.to.mutable_data(), copy.from.data(), copy.from.nbytes());
  }
  copies_.clear();
  for (Block& block : done_) out.push_back(std::move(block));
  done_.clear();
}

void BlockBuilder::Passed(int64_t rows) {
  for (Tensor& lent : lent_) lent = {};
  at_ = {};
  left_ -= rows;
  added_ += rows;
}

bool BlockBuilder::IsLent(size_t leaf, const Tensor& made) const {
  if (leaf >= lent_.size()) return false;
  const Tensor& lent = lent_[leaf];
  return lent.buffer() && made.buffer() == lent.buffer() && made.offset() == lent.offset();
}

Tensor BlockBuilder::InSlab(size_t leaf, DType dtype, const Shape& shape) {
  if (!at_) at_ = slabs_->Row(first_row_ + added_);
  return at_.slab->Rows(leaf, dtype, shape, at_.first, 1);
}

void BlockBuilder::AddToSlab(Element row) {
  constexpr size_t kLongCopy = 32 << 10;  // bytes from which copies release the foreign lock
  Block block;
  block.structure = row.structure;
  block.rows = 1;
  block.origins.first = std::move(row.origin);
  bool whole = true;
  for (size_t i = 0; i < row.leaves.size(); ++i) {
    Tensor& leaf = row.leaves[i];
    if (IsLent(i, leaf)) {
      block.columns.push_back(std::move(lent_[i]));
      continue;
    }
    Tensor lent = InSlab(i, leaf.dtype(), leaf.shape());
    if (!lent.buffer()) {
      whole = whole && leaf.dtype().is_reference();
      block.columns.push_back(leaf.Reshaped(leaf.shape().Prepend(1)));
      continue;
    }
    if (leaf.nbytes() >= kLongCopy) {
      copies_.push_back({lent, std::move(leaf)});
    } else {
      std::memcpy(lent.mutable_data(), leaf.data(), leaf.nbytes());
    }
    block.columns.push_back(std::move(lent));
  }
  if (whole) block.slab = std::move(at_);
  if (done_.empty() || !done_.back().Concat(block)) done_.push_back(std::move(block));
}

bool BlockBuilder::StartColumns(const Element& row) {
  if (left_ < 2) return false;
  columns_.resize(row.leaves.size());
  for (size_t i = 0; i < row.leaves.size(); ++i) {
    const Tensor& leaf = row.leaves[i];
    if (leaf.storage() != Storage::kDense || leaf.shape().rank() == kMaxRank) return false;
    if (!IsLent(i, leaf)) columns_[i] = Tensor::Make(leaf.dtype(), leaf.shape().Prepend(left_));
  }
  open_.structure = row.structure;
  return true;
}

bool BlockBuilder::AddToColumns(const Element& row) {
  if (open_.rows == 0 && !StartColumns(row)) return false;
  if (row.structure != open_.structure) return false;
  for (size_t i = 0; i < row.leaves.size(); ++i) {
    const Tensor& leaf = row.leaves[i];
    if (leaf.dtype() != columns_[i].dtype() ||
        !(leaf.shape() == columns_[i].shape().WithoutFirst())) {
      return false;
    }
  }
  for (size_t i = 0; i < row.leaves.size(); ++i) {
    const Tensor& leaf = row.leaves[i];
    if (IsLent(i, leaf)) continue;
    std::memcpy(columns_[i].mutable_data() + static_cast<size_t>(open_.rows) * leaf.nbytes(),
                leaf.data(), leaf.nbytes());
  }
  open_.origins.Add(open_.rows, row.origin);
  ++open_.rows;  // the row counts once all of it is written
  return true;
}

void BlockBuilder::CloseColumns() {
  if (open_.rows > 0) {
    // Allocate everything first, so that rows of an open block are neither lost nor returned twice.
    open_.columns.reserve(columns_.size());
    if (done_.size() == done_.capacity()) done_.reserve(2 * done_.size() + 1);
    for (Tensor& column : columns_) {
      open_.columns.push_back(column.shape()[0] == open_.rows ? std::move(column)
                                                              : column.Rows(0, open_.rows));
    }
    done_.push_back(std::move(open_));
    open_ = Block();
  }
  columns_.clear();
}

}  // namespace penstock
