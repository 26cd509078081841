// The loops over pixels in any order, by size.
#include "ops/image/copy_pixels.h"

#include <algorithm>
#include <cstring>

namespace penstock {
namespace {

// Columns of a tile: so many rows of the source stay in the cache while they become columns.
constexpr int64_t kTile = 64;

// kPixel: its size in bytes when known, so that a copy is a load and a store.
template <int64_t kPixel>
void Copy(const uint8_t* in, int64_t height, int64_t width, int64_t step_y, int64_t step_x,
          int64_t pixel, uint8_t* out) {
  if (kPixel) pixel = kPixel;
  const bool along_rows = step_x == pixel || step_x == -pixel;
  const int64_t tile = along_rows ? width : kTile;
  for (int64_t left = 0; left < width; left += tile) {
    const int64_t right = std::min(width, left + tile);
    for (int64_t y = 0; y < height; ++y) {
      const uint8_t* from = in + y * step_y + left * step_x;
      uint8_t* to = out + (y * width + left) * pixel;
      for (int64_t x = left; x < right; ++x, from += step_x, to += pixel) {
        std::memcpy(to, from, static_cast<size_t>(pixel));
      }
    }
  }
}

}  // namespace

void CopyPixels(const uint8_t* in, int64_t height, int64_t width, int64_t step_y, int64_t step_x,
                int64_t pixel, uint8_t* out) {
  if (step_x == pixel) {  // whole rows
    for (int64_t y = 0; y < height; ++y) {
      std::memcpy(out + y * width * pixel, in + y * step_y, static_cast<size_t>(width * pixel));
    }
    return;
  }
  switch (pixel) {
    case 1:
      return Copy<1>(in, height, width, step_y, step_x, pixel, out);
    case 3:
      return Copy<3>(in, height, width, step_y, step_x, pixel, out);
    case 4:
      return Copy<4>(in, height, width, step_y, step_x, pixel, out);
    case 12:
      return Copy<12>(in, height, width, step_y, step_x, pixel, out);
    default:
      return Copy<0>(in, height, width, step_y, step_x, pixel, out);
  }
}

}  // namespace penstock
