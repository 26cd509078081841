// Placing rows of native functions.
#include "compute/program/row_writer.h"

#include <cstring>

namespace penstock {

Tensor RowWriter::Place(size_t leaf, DType dtype, const Shape& shape) {
  Tensor& place = places_[leaf];
  place = {};
  bool small = shape.rank() == 0;  // a scalar is not worth the placer's lock
  if (dtype.is_reference() || shape.rank() == kMaxRank) return Tensor::Make(dtype, shape);
  if (info_.placer) {
    if (!small) place = info_.placer->Place(info_.first_row + row_, leaf, dtype, shape);
  } else if (left_ > 1 || open_rows_ > 0) {
    Tensor& column = columns_[leaf];
    if (open_rows_ == 0) column = Tensor::Make(dtype, shape.Prepend(left_));
    bool fits =
        column.buffer() && column.dtype() == dtype && column.shape().WithoutFirst() == shape;
    if (fits) place = column.Rows(open_rows_, 1);
  }
  return place.buffer() ? place.Reshaped(shape) : Tensor::Make(dtype, shape);
}

void RowWriter::Add(std::vector<Tensor> leaves, Origin origin) {
  if (info_.placer) {
    AddToBatch(std::move(leaves), std::move(origin));
  } else if (!AddToColumns(leaves, origin)) {
    CloseColumns();
    Element element;
    element.leaves = std::move(leaves);
    element.structure = structure_;
    element.origin = std::move(origin);
    done_.push_back(Block::Of(std::move(element)));
  }
  for (Tensor& place : places_) place = {};
  --left_;
  ++row_;
}

// Whether a leaf was written where it belongs.
bool IsPlaced(const Tensor& place, const Tensor& leaf) {
  return place.buffer() && leaf.buffer() == place.buffer() && leaf.offset() == place.offset();
}

void RowWriter::AddToBatch(std::vector<Tensor> leaves, Origin origin) {
  Block block;
  block.structure = structure_;
  block.rows = 1;
  block.origins.first = std::move(origin);
  block.placed = true;
  const bool worthwhile = RowPlacer::IsWorthwhile(leaves);
  for (size_t i = 0; i < leaves.size(); ++i) {
    Tensor& leaf = leaves[i];
    const bool dense = leaf.storage() == Storage::kDense && worthwhile;
    if (IsPlaced(places_[i], leaf)) {
      block.columns.push_back(std::move(places_[i]));
      continue;
    }
    Tensor row;
    if (dense && leaf.shape().rank() < kMaxRank) {
      row = info_.placer->Place(info_.first_row + row_, i, leaf.dtype(), leaf.shape());
    }
    if (row.buffer()) {
      std::memcpy(row.mutable_data(), leaf.data(), leaf.nbytes());
      block.columns.push_back(std::move(row));
    } else {
      block.columns.push_back(leaf.Reshaped(leaf.shape().Prepend(1)));
    }
  }
  done_.push_back(std::move(block));
}

bool RowWriter::StartColumns(const std::vector<Tensor>& leaves) {
  if (left_ < 2) return false;
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i].storage() != Storage::kDense || leaves[i].shape().rank() == kMaxRank)
      return false;
    if (!IsPlaced(places_[i], leaves[i])) {
      columns_[i] = Tensor::Make(leaves[i].dtype(), leaves[i].shape().Prepend(left_));
    }
  }
  return true;
}

bool RowWriter::AddToColumns(const std::vector<Tensor>& leaves, const Origin& origin) {
  if (open_rows_ == 0 && !StartColumns(leaves)) return false;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const Tensor& leaf = leaves[i];
    if (leaf.dtype() != columns_[i].dtype() ||
        !(leaf.shape() == columns_[i].shape().WithoutFirst())) {
      return false;
    }
  }
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (IsPlaced(places_[i], leaves[i])) continue;
    size_t size = leaves[i].nbytes();
    std::memcpy(columns_[i].mutable_data() + static_cast<size_t>(open_rows_) * size,
                leaves[i].data(), size);
  }
  open_.origins.Add(open_rows_, origin);
  ++open_rows_;  // the row counts when all of it is there
  return true;
}

void RowWriter::CloseColumns() {
  if (open_rows_ > 0) {
    // All the memory first: the rows of an open block are never lost or given twice.
    open_.columns.reserve(columns_.size());
    if (done_.size() == done_.capacity()) done_.reserve(2 * done_.size() + 1);
    open_.structure = structure_;
    open_.rows = open_rows_;
    for (Tensor& column : columns_) {
      open_.columns.push_back(column.shape()[0] == open_rows_ ? std::move(column)
                                                              : column.Rows(0, open_rows_));
    }
    done_.push_back(std::move(open_));
  }
  open_ = Block();
  open_rows_ = 0;
  for (Tensor& column : columns_) column = {};
}

void RowWriter::AddError(Error error) {
  CloseColumns();
  for (Tensor& place : places_) place = {};
  --left_;
  ++row_;
  if (done_.empty() || done_.back().last()) done_.emplace_back();
  done_.back().error = std::move(error);
}

void RowWriter::Finish(std::vector<Block>& out) {
  CloseColumns();
  for (Block& block : done_) out.push_back(std::move(block));
  done_.clear();
}

}  // namespace penstock
