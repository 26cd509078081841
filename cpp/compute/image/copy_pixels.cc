// Loops that copy pixels in any order, specialised by size.
#include "compute/image/copy_pixels.h"

#include <algorithm>
#include <cstring>

#include "compute/image/pixel_loops.h"

namespace penstock {
namespace {

// kPixel: the size in bytes if known, so that a copy is a load and a store.
template <int64_t kPixel>
void Gather(const uint8_t* in, int64_t width, int64_t step, int64_t pixel, uint8_t* out) {
  if (kPixel) pixel = kPixel;
  for (int64_t x = 0; x < width; ++x, in += step, out += pixel) {
    std::memcpy(out, in, static_cast<size_t>(pixel));
  }
}

// Columns of a tile: this many rows of the source stay in the cache while they become columns.
constexpr int64_t kTile = 64;

template <int64_t kPixel>
void Copy(const uint8_t* in, int64_t height, int64_t width, int64_t step_y, int64_t step_x,
          int64_t pixel, uint8_t* out) {
  for (int64_t left = 0; left < width; left += kTile) {
    const int64_t columns = std::min(kTile, width - left);
    for (int64_t y = 0; y < height; ++y) {
      Gather<kPixel>(in + y * step_y + left * step_x, columns, step_x, pixel,
                     out + (y * width + left) * pixel);
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
  if (step_x == -pixel) {
    const auto reverse = PixelLoopsOf(ChosenInstructionSet()).ReverserOf(pixel);
    for (int64_t y = 0; y < height; ++y) {
      reverse(in + y * step_y, width, pixel, out + y * width * pixel);
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
