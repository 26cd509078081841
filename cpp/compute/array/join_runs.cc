// Copies runs of items.
#include "compute/array/join_runs.h"

#include <cstring>
#include <string_view>

namespace penstock {
namespace {

// The number of items per step along the first axis.
int64_t StepOf(const Tensor& tensor) {
  int64_t items = 1;
  for (int i = 1; i < tensor.shape().rank(); ++i) items *= tensor.shape()[i];
  return items;
}

Tensor JoinStrings(DType dtype, const Shape& shape, const std::vector<ItemRun>& runs) {
  std::vector<std::string_view> strings;
  strings.reserve(static_cast<size_t>(shape.elements()));
  for (const ItemRun& run : runs) {
    const int64_t step = StepOf(*run.from);
    for (int64_t i = run.first * step; i < (run.first + run.count) * step; ++i) {
      strings.push_back(run.from->string(i));
    }
  }
  return Tensor::Strings(dtype.code, shape, strings);
}

}  // namespace

Tensor JoinRuns(DType dtype, const Shape& shape, const std::vector<ItemRun>& runs) {
  if (dtype.is_reference()) return JoinStrings(dtype, shape, runs);
  Tensor joined = Tensor::Make(dtype, shape);
  uint8_t* to = joined.mutable_data();
  for (const ItemRun& run : runs) {
    const size_t step = static_cast<size_t>(StepOf(*run.from)) * dtype.itemsize;
    const size_t bytes = static_cast<size_t>(run.count) * step;
    if (bytes) std::memcpy(to, run.from->data() + static_cast<size_t>(run.first) * step, bytes);
    to += bytes;
  }
  return joined;
}

}  // namespace penstock
