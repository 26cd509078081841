// Converts the values of features to arrays.
#include <algorithm>
#include <cstring>
#include <limits>

#include "compute/io/feature_values.h"
#include "data/error.h"

namespace penstock {
namespace {

Shape Joined(const Shape& outer, const Shape& inner) {
  std::vector<int64_t> dims(outer.dims().begin(), outer.dims().end());
  dims.insert(dims.end(), inner.dims().begin(), inner.dims().end());
  return {dims.data(), dims.size()};
}

}  // namespace

Tensor FeatureValues::Array(ItemList& column, const Tensor& serialized, const Shape& outer,
                            const Shape& inner) const {
  Shape shape = Joined(outer, inner);
  if (request_.kind == ValueKind::kBytes) return Strings(column, serialized, shape);
  DType dtype = DType::Of(request_.type);
  if (shape.rank() == 0) return Tensor::ScalarBytes(dtype, column.data());
  return Tensor::View(dtype, shape, column.buffer(), 0);
}

Tensor FeatureValues::Strings(ItemList& column, const Tensor& serialized,
                              const Shape& shape) const {
  constexpr size_t kMostKept = 8;  // times the size of the strings themselves
  auto* spans = reinterpret_cast<TextSpan*>(column.data());
  size_t count = column.size(), bytes = 0;
  bool packed = serialized.storage() == Storage::kPacked;
  auto base = packed ? reinterpret_cast<int64_t>(serialized.buffer()->data()) : 0;
  int64_t limit = packed ? base + static_cast<int64_t>(serialized.buffer()->size()) : 0;
  bool inside = packed;
  for (size_t i = 0; i < count; ++i) {
    auto [begin, end] = spans[i];
    bytes += static_cast<size_t>(end - begin);
    inside = inside && (begin == end || (begin >= base && end <= limit));
  }
  if (inside && bytes * kMostKept >= serialized.buffer()->size()) {
    for (size_t i = 0; i < count; ++i) {
      auto [begin, end] = spans[i];
      spans[i] = begin == end ? TextSpan{0, 0} : TextSpan{begin - base, end - base};
    }
    return Tensor::Packed(request_.type, shape, column.buffer(), serialized.buffer());
  }
  BufferRef text = Buffer::Allocate(bytes);
  int64_t at = 0;
  for (size_t i = 0; i < count; ++i) {
    auto [begin, end] = spans[i];
    int64_t size = end - begin;
    if (size) {
      std::memcpy(text->data() + at, reinterpret_cast<const void*>(begin),
                  static_cast<size_t>(size));
    }
    spans[i] = {at, at + size};
    at += size;
  }
  return Tensor::Packed(request_.type, shape, column.buffer(), std::move(text));
}

Tensor FeatureValues::Splits(const std::vector<int64_t>& ends) const {
  auto count = static_cast<int64_t>(ends.size()) + 1;
  if (!request_.narrow_splits) {
    Tensor splits = Tensor::Make(DType::Of(TypeCode::kInt64), {count});
    auto* out = reinterpret_cast<int64_t*>(splits.mutable_data());
    *out = 0;
    std::copy(ends.begin(), ends.end(), out + 1);
    return splits;
  }
  if (!ends.empty() && ends.back() > std::numeric_limits<int32_t>::max()) {
    throw Error(ErrorKind::kInvalidArgument,
                "parse_example: row_splits_dtype must be int64 for {} values, got int32",
                ends.back());
  }
  Tensor splits = Tensor::Make(DType::Of(TypeCode::kInt32), {count});
  auto* out = reinterpret_cast<int32_t*>(splits.mutable_data());
  *out = 0;
  std::transform(ends.begin(), ends.end(), out + 1,
                 [](int64_t end) { return static_cast<int32_t>(end); });
  return splits;
}

// Pads every example to the number of rows of the longest one.
Tensor FeatureValues::Padded(const Tensor& serialized, const Shape& outer) const {
  int64_t longest = 0, before = 0;
  for (int64_t end : ends_) {
    longest = std::max(longest, end - before);
    before = end;
  }
  ItemList padded(column_.itemsize(), static_cast<size_t>(longest) * ends_.size());
  before = 0;
  for (int64_t end : ends_) {
    padded.Append(column_.data() + static_cast<size_t>(before) * column_.itemsize(),
                  static_cast<size_t>(end - before));
    for (int64_t i = end - before; i < longest; ++i) padded.Append(request_.fill.data(), 1);
    before = end;
  }
  return Array(padded, serialized, Joined(outer, {longest / request_.items}), request_.shape);
}

std::vector<Tensor> FeatureValues::Take(const Tensor& serialized, const Shape& outer, bool alone) {
  if (request_.form == FeatureForm::kFixed) {
    return {Array(column_, serialized, outer, request_.shape)};
  }
  if (request_.form == FeatureForm::kPadded) {
    if (!alone) return {Padded(serialized, outer)};
    return {Array(column_, serialized, {rows()}, request_.shape)};
  }
  Tensor values = Array(column_, serialized, {static_cast<int64_t>(column_.size())}, {});
  if (alone) return {std::move(values)};
  return {std::move(values), Splits(ends_)};
}

std::vector<Tensor> FeatureValues::TakeLists(const Tensor& serialized, const Shape& outer,
                                             bool alone) {
  if (request_.form == FeatureForm::kPadded) {
    if (alone) return {Array(column_, serialized, {rows()}, request_.shape)};
    Tensor lengths = Tensor::Make(DType::Of(TypeCode::kInt64), outer);
    auto* out = reinterpret_cast<int64_t*>(lengths.mutable_data());
    int64_t before = 0;
    for (int64_t end : ends_) {
      *out++ = (end - before) / request_.items;
      before = end;
    }
    return {Padded(serialized, outer), std::move(lengths)};
  }
  Tensor values = Array(column_, serialized, {static_cast<int64_t>(column_.size())}, {});
  if (alone) return {std::move(values), Splits(step_ends_)};
  return {std::move(values), Splits(step_ends_), Splits(ends_)};
}

}  // namespace penstock
