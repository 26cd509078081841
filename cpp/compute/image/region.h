// Regions of images: reads them from inputs, checks and copies them.
#pragma once

#include <vector>

#include "compute/op.h"
#include "compute/operand.h"

namespace penstock {

// The maximum side of an output image, in pixels.
inline constexpr int64_t kMaxSide = (int64_t{1} << 31) - 1;

// All integers of the inputs from number `first` on; there must be `count` in total.
std::vector<int64_t> IntegersFrom(const Operand& operand, const std::vector<Tensor>& inputs,
                                  size_t first, size_t count);

// Copies the region of each image of a batch into `out`, a batch of the same size, at row `y` and
// column `x`.
void CopyRegion(const Tensor& images, const Region& region, Tensor& out, int64_t y, int64_t x);

// The shape of `images` with another height and width.
Shape ResizedShape(const Shape& images, int64_t height, int64_t width);

}  // namespace penstock
