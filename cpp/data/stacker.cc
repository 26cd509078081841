// Joining the stretches of a batch.
#include "data/stacker.h"

#include <cstring>
#include <new>

#include "runtime/blocking.h"

namespace penstock {

std::optional<std::string> Stacker::Misfit(size_t leaf, const Tensor& column) const {
  if (stretches().empty()) return std::nullopt;
  Shape came = column.shape().WithoutFirst();
  Shape began = columns(stretches().front())[leaf].shape(0);
  if (came == began) return std::nullopt;
  std::string_view advice = came.rank() == began.rank()
                                ? "use padded_batch or ragged_batch, or make the shapes equal in "
                                  "a map first"
                                : "make the shapes equal in a map first";
  return Format("has shape {}, the batch began with {}; {}", came.ToString(), began.ToString(),
                advice);
}

void Stacker::Keep(Stretch stretch) {
  stretches().push_back(std::move(stretch));
  // A single stretch may be the whole batch.
  if (stretches().size() == 2 && AreLarge(stretches().front())) {
    next_.slab = std::make_shared<Slab>(capacity_);
    CopyToSlab(stretches().front());
  }
  if (next_) CopyToSlab(stretches().back());
}

bool Stacker::AreLarge(const Stretch& stretch) const {
  constexpr size_t kLargeRow = 16 << 10;
  constexpr size_t kMost = size_t{1} << 30;  // more may never be filled: "everything in one batch"
  if (stretch.slab) return false;
  size_t row = 0;
  for (const Tensor& column : columns(stretch)) {
    if (!column.dtype().is_reference()) row += column.nbytes() / static_cast<size_t>(stretch.rows);
  }
  return row >= kLargeRow && row <= kMost / static_cast<size_t>(capacity_);
}

void Stacker::CopyToSlab(Stretch& stretch) {
  try {
    for (size_t i = 0; i < columns(stretch).size(); ++i) {
      Tensor& column = columns(stretch)[i].items;
      if (column.dtype().is_reference()) continue;
      Tensor rows = next_.slab->Rows(i, column.dtype(), column.shape().WithoutFirst(), next_.first,
                                     stretch.rows);
      LeaveForeignLockToCopy(column.nbytes());
      if (column.nbytes()) std::memcpy(rows.mutable_data(), column.data(), column.nbytes());
      column = std::move(rows);
    }
  } catch (const std::bad_alloc&) {  // the batch may turn out smaller
    next_ = {};
    return;
  }
  stretch.slab = next_;
  next_.first += stretch.rows;
}

bool Stacker::FillSlab() const {
  int64_t rows = 0;
  for (const Stretch& stretch : stretches()) {
    if (!stretch.slab.Follow(stretches().front().slab, rows)) return false;
    rows += stretch.rows;
  }
  return true;
}

Tensor Stacker::Join(size_t leaf) {
  Tensor& first = columns(stretches().front())[leaf].items;
  if (!dtype(leaf).is_reference()) {
    if (FillSlab()) return first.Rows(0, rows());
    // A single stretch, aligned like batch memory and only referenced here, already is the batch.
    constexpr size_t kAlign = 64;
    const bool aligned = first.offset() % kAlign == 0;
    if (stretches().size() == 1 && aligned && first.buffer() && first.buffer()->unique())
      return std::move(first);
  }
  Shape shape = first.shape();
  shape[0] = rows();
  return JoinItems(leaf, shape);
}

void Stacker::Clear() { next_ = {}; }

}  // namespace penstock
