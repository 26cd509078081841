// The colours of pixels in separate planes, so that loops over them compile to vector instructions.
#pragma once

#include <cstddef>

#include "compute/image/image_floats.h"

namespace penstock {

struct RgbPlanes {
  static constexpr size_t kPixels = kRunFloats / 3;
  alignas(64) float r[kPixels], g[kPixels], b[kPixels];

  void Split(const float* from, size_t pixels) {
    for (size_t i = 0; i < pixels; ++i) {
      r[i] = from[3 * i];
      g[i] = from[3 * i + 1];
      b[i] = from[3 * i + 2];
    }
  }
  void Join(float* to, size_t pixels) const {
    for (size_t i = 0; i < pixels; ++i) {
      to[3 * i] = r[i];
      to[3 * i + 1] = g[i];
      to[3 * i + 2] = b[i];
    }
  }
};

inline float Larger(float a, float b) { return a > b ? a : b; }
inline float Smaller(float a, float b) { return a < b ? a : b; }
inline float Clipped(float x) { return Smaller(Larger(x, 0), 1); }

// The hue in sixths of a turn, from -1 to 5; 0 of gray. `range` is max - min.
inline float HueOf(float r, float g, float b, float max, float range) {
  float scale = 1 / (range > 0 ? range : 1);
  // All three are computed first: the compiler vectorises only a choice between values that exist.
  float of_r = (g - b) * scale, of_g = 2 + (b - r) * scale, of_b = 4 + (r - g) * scale;
  float hue = r == max ? of_r : g == max ? of_g : of_b;
  return range > 0 ? hue : 0;
}

// How far each colour rises from the smallest to the largest at a hue in sixths: in [0, 1].
inline float RedAt(float hue) { return Clipped(Larger(hue - 3, 3 - hue) - 1); }
inline float GreenAt(float hue) { return Clipped(2 - Larger(hue - 2, 2 - hue)); }
inline float BlueAt(float hue) { return Clipped(2 - Larger(hue - 4, 4 - hue)); }

}  // namespace penstock
