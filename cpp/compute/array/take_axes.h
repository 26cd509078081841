// Builds an array from tables of the input index for each output index along each axis.
#pragma once

#include <cstdint>
#include <vector>

#include "data/tensor.h"

namespace penstock {

// For each output index along one axis, the input index, or kOtherwise.
using AxisTable = std::vector<int64_t>;
constexpr int64_t kOtherwise = -1;

// Fills `out` so that its item (i, j, ...) is item (tables[0][i], tables[1][j], ...) of `x`, or the
// item at `otherwise` if an index is kOtherwise. An empty table keeps an axis unchanged.
void TakeAxes(const Tensor& x, const std::vector<AxisTable>& tables, const uint8_t* otherwise,
              Tensor& out);

// Fills `bytes` bytes with repetitions of one item.
void FillItems(const uint8_t* item, size_t itemsize, uint8_t* to, size_t bytes);

}  // namespace penstock
