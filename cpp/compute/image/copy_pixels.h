// Copies images with their pixels in another order.
#pragma once

#include <cstdint>

namespace penstock {

// Copies rows of pixels of `pixel` bytes. The pixel at (y, x) comes from in + y * step_y + x *
// step_x; steps are in bytes and may be negative.
void CopyPixels(const uint8_t* in, int64_t height, int64_t width, int64_t step_y, int64_t step_x,
                int64_t pixel, uint8_t* out);

}  // namespace penstock
