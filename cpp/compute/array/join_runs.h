// Joins items of rows that differ in size.
#pragma once

#include <vector>

#include "data/tensor.h"

namespace penstock {

// Consecutive items of a tensor along its first axis.
struct ItemRun {
  const Tensor* from;
  int64_t first, count;
};

// The items of all runs, which are numbers or strings of `dtype`; `shape` must have the same number
// of items.
Tensor JoinRuns(DType dtype, const Shape& shape, const std::vector<ItemRun>& runs);

}  // namespace penstock
