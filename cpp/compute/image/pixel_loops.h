// Loops over the pixels of images, for each set of instructions: the same bits by all of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/instruction_set.h"

namespace penstock {

// Numbers of float32 at a time, at most: they stay in the first-level cache. Whole pixels of 1, 2,
// 3 and 4 channels.
constexpr size_t kRunFloats = 1536;

// The colours of pixels in separate planes, so that loops over them compile to vector instructions.
struct RgbPlanes {
  static constexpr size_t kPixels = kRunFloats / 3;
  alignas(64) float r[kPixels], g[kPixels], b[kPixels];
};

// What comes in and what goes out are the same memory or have nothing in common.
struct PixelLoops {
  // (from[i] - mean[i]) / deviation[i]
  void (*normalize)(const float* from, const float* mean, const float* deviation, size_t count,
                    float* to);
  void (*standardize)(const float* from, float mean, float divisor, size_t count, float* to);
  // (from[i] - mean[i]) * factor + mean[i]
  void (*spread)(const float* from, const float* mean, float factor, size_t count, float* to);
  void (*add)(const float* from, float delta, size_t count, float* to);
  // At least `low`, at most `high`.
  void (*multiply_and_clip)(const float* from, float factor, float low, float high, size_t count,
                            float* to);

  void (*split)(const float* from, size_t pixels, RgbPlanes& planes);
  void (*join)(const RgbPlanes& planes, size_t pixels, float* to);
  // Hue and value stay: each colour keeps its share of the distance to the largest one, which is
  // scaled until the smallest is 0.
  void (*scale_distances)(RgbPlanes& planes, size_t pixels, float factor);
  // The largest and the smallest colour stay. `sixths` is in [0, 6).
  void (*rotate_hue)(RgbPlanes& planes, size_t pixels, float sixths);
  void (*to_gray)(RgbPlanes& planes, size_t pixels);  // as the new `r`
  void (*rgb_to_hsv)(RgbPlanes& planes, size_t pixels);
  void (*hsv_to_rgb)(RgbPlanes& planes, size_t pixels);

  // Pixels of `pixel` bytes: the first at `in`, the others before it. Made for 1, 3, 4 and 12
  // bytes, and for any (0). `out` is other memory.
  using Reverse = void (*)(const uint8_t* in, int64_t width, int64_t pixel, uint8_t* out);
  static constexpr int64_t kMostBytes = 12;
  Reverse reverse[kMostBytes + 1];

  // The colours of a JPEG, as libjpeg makes them, to the last bit: from planes of y, cb and cr.
  // Null where libjpeg is as quick.
  void (*ycc_to_rgb)(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, size_t pixels,
                     uint8_t* rgb);

  Reverse ReverserOf(int64_t pixel) const {
    return reverse[pixel <= kMostBytes && reverse[pixel] ? pixel : 0];
  }
};

const PixelLoops& PixelLoopsOf(InstructionSet set);

}  // namespace penstock
