// Moving rows into and out of columns.
#include "data/column.h"

#include <algorithm>
#include <cstring>

namespace penstock {

Column Column::Constant(Tensor item) {
  Column column(std::move(item));
  column.constant = true;
  return column;
}

std::optional<Column> Column::Of(const std::vector<const Tensor*>& rows) {
  const Tensor& first = *rows.front();
  const int rank = first.shape().rank();
  const DType dtype = first.dtype();
  const int64_t size = rank > 0 ? first.shape()[0] : 0;
  std::vector<int64_t> ends(rows.size() + 1);
  bool equal = true;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Shape& shape = rows[i]->shape();
    if (rows[i]->dtype() != dtype || shape.rank() != rank) return std::nullopt;
    for (int d = 1; d < rank; ++d) {
      if (shape[d] != first.shape()[d]) return std::nullopt;
    }
    if (rank == 0) continue;
    equal = equal && shape[0] == size;
    ends[i + 1] = ends[i] + shape[0];
  }
  Shape shape = first.shape();
  if (equal) {
    shape = shape.Prepend(static_cast<int64_t>(rows.size()));
    return Tensor::Concat(first.dtype(), shape, rows);
  }
  shape[0] = ends.back();
  return Column(Tensor::Concat(first.dtype(), shape, rows), std::move(ends));
}

Tensor Column::Flat() const {
  if (!stacked()) return items;
  Shape shape = items.shape().WithoutFirst();
  shape[0] *= items.shape()[0];
  return items.Reshaped(shape);
}

Tensor Column::OwnRow(int64_t row) const {
  if (constant) return items;
  const Range range = RangeOf(row);
  return items.Rows(range.begin, range.count);
}

Shape Column::shape(int64_t row) const {
  if (stacked()) return items.shape().WithoutFirst();
  Shape shape = items.shape();
  if (ragged()) shape[0] = RangeOf(row).count;
  return shape;
}

Shape Column::Cover(int64_t rows) const {
  if (stacked()) return items.shape();
  Shape shape = items.shape();
  if (ragged()) {
    shape[0] = 0;
    for (int64_t row = 0; row < rows; ++row) shape[0] = std::max(shape[0], RangeOf(row).count);
  }
  return shape.Prepend(rows);
}

Column Column::Slice(int64_t begin, int64_t count) const {
  if (stacked()) return items.Rows(begin, count);
  if (constant) return *this;
  auto first = splits->begin() + begin;
  return {items, std::vector<int64_t>(first, first + count + 1)};
}

Column Column::Divide(int64_t begin, int64_t count) const {
  Tensor rows = items.Rows(begin, count);
  const DType dtype = rows.dtype();
  const size_t offset = rows.offset();
  return Tensor::View(dtype, rows.shape(), Buffer::Part(rows.take_buffer()), offset);
}

Column Column::Take(const std::vector<int64_t>& rows) const {
  if (stacked()) return items.Take(rows);
  if (constant) return *this;
  std::vector<Tensor> taken;
  std::vector<const Tensor*> parts;
  taken.reserve(rows.size());
  for (int64_t row : rows) parts.push_back(&taken.emplace_back(Row(row)));
  return *Of(parts);
}

Column Column::FromZero() const {
  const int64_t begin = splits->front();
  std::vector<int64_t> ends = *splits;
  for (int64_t& end : ends) end -= begin;
  Tensor own = items.Rows(begin, ends.back());
  return {std::move(own), std::move(ends)};
}

Column Column::Stacked(int64_t rows) const {
  if (!constant) return *this;
  if (items.storage() != Storage::kDense || items.shape().rank() == kMaxRank) return {};
  Tensor column = Tensor::Make(items.dtype(), items.shape().Prepend(rows));
  const size_t bytes = items.nbytes();
  for (int64_t row = 0; row < rows; ++row) {
    std::memcpy(column.mutable_data() + static_cast<size_t>(row) * bytes, items.data(), bytes);
  }
  return column;
}

}  // namespace penstock
