// Making an array from tables that say, for each index along each axis, which index of the input to
// take.
#pragma once

#include <cstdint>
#include <vector>

#include "data/tensor.h"

namespace penstock {

// For each index of the output along one axis the index of the input; kOtherwise for none.
using AxisTable = std::vector<int64_t>;
constexpr int64_t kOtherwise = -1;

// Fills `out`, whose item (i, j, ...) is that of x at (tables[0][i], tables[1][j], ...), or the
// item at `otherwise` where a table says so. An empty table keeps an axis as it is.
void TakeAxes(const Tensor& x, const std::vector<AxisTable>& tables, const uint8_t* otherwise,
              Tensor& out);

// Fills `bytes` bytes with one item over and over.
void FillItems(const uint8_t* item, size_t itemsize, uint8_t* to, size_t bytes);

}  // namespace penstock
