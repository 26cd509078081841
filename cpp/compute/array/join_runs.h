// Items of rows that differ in size, put one after the other.
#pragma once

#include <vector>

#include "data/tensor.h"

namespace penstock {

// Consecutive items of a tensor along its first axis.
struct ItemRun {
  const Tensor* from;
  int64_t first, count;
};

// The items of all runs, of numbers or strings of `dtype`; `shape` has as many.
Tensor JoinRuns(DType dtype, const Shape& shape, const std::vector<ItemRun>& runs);

}  // namespace penstock
