// Loops over the pixels of images, for each instruction set. All produce the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/instruction_set.h"

namespace penstock {

// The maximum number of float32 values per run: they stay in the L1 cache. A multiple of 1, 2, 3
// and 4 channels.
constexpr size_t kRunFloats = 1536;

// The colours of pixels in separate planes, so that loops over them are vectorised.
struct RgbPlanes {
  static constexpr size_t kPixels = kRunFloats / 3;
  alignas(64) float r[kPixels], g[kPixels], b[kPixels];
};

// Input and output must be the same memory, or must not overlap.
struct PixelLoops {
  // (from[i] - mean[i]) / deviation[i]
  void (*normalize)(const float* from, const float* mean, const float* deviation, size_t count,
                    float* to);
  void (*standardize)(const float* from, float mean, float divisor, size_t count, float* to);
  // (from[i] - mean[i]) * factor + mean[i]
  void (*spread)(const float* from, const float* mean, float factor, size_t count, float* to);
  void (*add)(const float* from, float delta, size_t count, float* to);
  // Clips to [`low`, `high`].
  void (*multiply_and_clip)(const float* from, float factor, float low, float high, size_t count,
                            float* to);

  void (*split)(const float* from, size_t pixels, RgbPlanes& planes);
  void (*join)(const RgbPlanes& planes, size_t pixels, float* to);
  // Keeps hue and value: multiplies the distance of each colour to the largest one, at most until
  // the smallest is 0.
  void (*scale_distances)(RgbPlanes& planes, size_t pixels, float factor);
  // Keeps the largest and the smallest colour. `sixths` is in [0, 6).
  void (*rotate_hue)(RgbPlanes& planes, size_t pixels, float sixths);
  void (*to_gray)(RgbPlanes& planes, size_t pixels);  // stores the result in `r`
  void (*rgb_to_hsv)(RgbPlanes& planes, size_t pixels);
  void (*hsv_to_rgb)(RgbPlanes& planes, size_t pixels);

  // Copies pixels of `pixel` bytes backwards: the first at `in`, the others before it. Specialised
  // for 1, 3, 4 and 12 bytes; entry 0 is for any size. `out` must not overlap.
  using Reverse = void (*)(const uint8_t* in, int64_t width, int64_t pixel, uint8_t* out);
  static constexpr int64_t kMostBytes = 12;
  Reverse reverse[kMostBytes + 1];

  // Converts JPEG colours from planes of y, cb and cr, bit by bit as libjpeg. Null where libjpeg is
  // as fast.
  void (*ycc_to_rgb)(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, size_t pixels,
                     uint8_t* rgb);

  Reverse ReverserOf(int64_t pixel) const {
    return reverse[pixel <= kMostBytes && reverse[pixel] ? pixel : 0];
  }
};

const PixelLoops& PixelLoopsOf(InstructionSet set);

}  // namespace penstock
