// Defaults of functions, and the placing of rows in shared slabs.
#include "compute/function.h"

#include <algorithm>

#include "data/element_text.h"

namespace penstock {

bool Function::Test(const Element&, const CallInfo& info) {
  throw Error(ErrorKind::kType, "{}: this function cannot be used as a predicate",
              info.stage->kind);
}

DatasetPtr Function::Open(const Element&, const CallInfo& info) {
  throw Error(ErrorKind::kType, "{}: this function cannot return a dataset", info.stage->kind);
}

ErrorPlace PlaceOf(const CallInfo& info, int64_t row, const Element& element) {
  return {*info.stage, info.index + row, ElementText(element)};
}

bool RowPlacer::IsWorthwhile(const std::vector<Tensor>& leaves) {
  return std::ranges::any_of(leaves, [](const Tensor& leaf) {
    return leaf.storage() == Storage::kDense && leaf.shape().rank() > 0;
  });
}

Tensor RowPlacer::Place(int64_t row, size_t leaf, DType dtype, const Shape& shape) {
  if (dtype.is_reference()) return {};
  std::lock_guard lock(mutex_);
  int64_t number = row / rows_;
  auto slab =
      std::find_if(slabs_.begin(), slabs_.end(), [&](const Slab& s) { return s.number == number; });
  if (slab == slabs_.end()) {
    // Workers are at most a window apart: older slabs are complete, only their readers hold them.
    if (slabs_.size() > 8) slabs_.erase(slabs_.begin());
    slabs_.push_back({number, {}, {}});
    slab = slabs_.end() - 1;
  }
  if (slab->columns.size() <= leaf) slab->columns.resize(leaf + 1);
  if (slab->placed.size() <= leaf) slab->placed.resize(leaf + 1);
  Tensor& column = slab->columns[leaf];
  if (!column.buffer() && slab->placed[leaf] == 0)
    column = Tensor::Make(dtype, shape.Prepend(rows_));
  if (!column.buffer() || column.dtype() != dtype || column.shape().WithoutFirst() != shape)
    return {};
  Tensor given = column.Rows(row % rows_, 1);
  // The last row: the batch must become the only holder of its memory.
  if (++slab->placed[leaf] == rows_) column = Tensor();
  return given;
}

}  // namespace penstock
