// Joining pieces of a batch.
#include "data/stacker.h"

#include <cstring>
#include <new>

#include "runtime/blocking.h"

namespace penstock {

std::optional<std::string> Stacker::Misfit(size_t leaf, const Tensor& column) const {
  if (pieces().empty()) return std::nullopt;
  Shape came = column.shape().WithoutFirst();
  Shape began = pieces().front().columns[leaf].shape(0);
  if (came == began) return std::nullopt;
  std::string_view advice = came.rank() == began.rank()
                                ? "use padded_batch or ragged_batch, or make the shapes equal in "
                                  "a map first"
                                : "make the shapes equal in a map first";
  return Format("has shape {}, the batch began with {}; {}", came.ToString(), began.ToString(),
                advice);
}

void Stacker::Keep(Piece piece) {
  pieces().push_back(std::move(piece));
  if (pieces().size() > 1 && !pieces().front().slab) Absorb();
}

bool Stacker::FillSlab() const {
  int64_t rows = 0;
  for (const Piece& piece : pieces()) {
    if (!piece.slab.Follow(pieces().front().slab, rows)) return false;
    rows += piece.rows;
  }
  return true;
}

void Stacker::Absorb() {
  constexpr size_t kLargeRow = 16 << 10;
  constexpr size_t kMost = size_t{1} << 30;  // more may never be filled: "everything in one batch"
  std::vector<Column>& columns = pieces().front().columns;
  if (assembled_.empty()) {
    assembled_.resize(columns.size());
    for (size_t i = 0; i < columns.size(); ++i) {
      const Tensor& first = columns[i];
      size_t row = first.dtype().is_reference()
                       ? 0
                       : first.nbytes() / static_cast<size_t>(pieces().front().rows);
      bool fits = row >= kLargeRow && row <= kMost / static_cast<size_t>(capacity_);
      if (!fits) continue;
      Shape shape = first.shape();
      shape[0] = capacity_;
      try {
        assembled_[i] = Tensor::Make(first.dtype(), shape);
      } catch (const std::bad_alloc&) {  // the batch may yet be smaller
      }
    }
  }
  for (; absorbed_ < pieces().size(); ++absorbed_) {
    Piece& piece = pieces()[absorbed_];
    for (size_t i = 0; i < assembled_.size(); ++i) {
      if (!assembled_[i].buffer()) continue;
      Tensor& column = piece.columns[i].items;
      size_t bytes = column.nbytes();
      LeaveForeignLockToCopy(bytes);
      size_t row = bytes / static_cast<size_t>(piece.rows);
      std::memcpy(assembled_[i].mutable_data() + static_cast<size_t>(absorbed_rows_) * row,
                  column.data(), bytes);
      // The first one stays, as what the others are compared with; its memory does not.
      Shape shape = column.shape();
      shape[0] = 0;
      column = Tensor::View(column.dtype(), shape, {}, 0);
    }
    absorbed_rows_ += piece.rows;
  }
}

Tensor Stacker::Join(size_t leaf) {
  const int64_t rows = this->rows();
  Tensor& first = pieces().front().columns[leaf].items;
  DType dtype = this->dtype(leaf);
  Shape shape = first.shape();
  shape[0] = rows;
  if (leaf < assembled_.size() && assembled_[leaf].buffer()) return assembled_[leaf].Rows(0, rows);
  if (!dtype.is_reference()) {
    if (FillSlab()) return first.Rows(0, rows);
    // Alone, whole, and held here only: the batch is there already.
    if (pieces().size() == 1 && first.buffer() && first.buffer()->unique()) return std::move(first);
    Tensor out = Tensor::Make(dtype, shape);
    LeaveForeignLockToCopy(out.nbytes());
    uint8_t* to = out.mutable_data();
    for (Piece& piece : pieces()) {
      const Tensor& column = piece.columns[leaf];
      const size_t bytes = column.nbytes();
      if (bytes) std::memcpy(to, column.data(), bytes);
      to += bytes;
    }
    return out;
  }
  std::vector<const Tensor*> parts;
  for (Piece& piece : pieces()) parts.push_back(&piece.columns[leaf].items);
  return Tensor::Concat(dtype, shape, parts);
}

void Stacker::Clear() {
  assembled_.clear();
  absorbed_ = 0;
  absorbed_rows_ = 0;
}

}  // namespace penstock
