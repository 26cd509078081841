// Saturation and hue of RGB.
#include <cmath>

#include "compute/image/adjustments.h"
#include "compute/image/rgb_planes.h"

namespace penstock {
namespace {

// Hue and value stay: each colour keeps its share of the distance to the largest one, which is
// scaled until the smallest is 0.
void ScaleDistances(RgbPlanes& planes, size_t pixels, float factor) {
  for (size_t i = 0; i < pixels; ++i) {
    float r = planes.r[i], g = planes.g[i], b = planes.b[i];
    float max = Larger(Larger(r, g), b);
    float range = max - Smaller(Smaller(r, g), b);
    float most = max / (range > 0 ? range : 1);
    float scale = Larger(Smaller(factor, most), 0);
    planes.r[i] = max - (max - r) * scale;
    planes.g[i] = max - (max - g) * scale;
    planes.b[i] = max - (max - b) * scale;
  }
}

// The largest and the smallest colour stay. `sixths` is in [0, 6).
void Rotate(RgbPlanes& planes, size_t pixels, float sixths) {
  for (size_t i = 0; i < pixels; ++i) {
    float r = planes.r[i], g = planes.g[i], b = planes.b[i];
    float max = Larger(Larger(r, g), b), min = Smaller(Smaller(r, g), b);
    float range = max - min;
    float hue = HueOf(r, g, b, max, range) + sixths;
    hue -= hue >= 6 ? 6.0f : 0.0f;
    hue += hue < 0 ? 6.0f : 0.0f;
    planes.r[i] = min + range * RedAt(hue);
    planes.g[i] = min + range * GreenAt(hue);
    planes.b[i] = min + range * BlueAt(hue);
  }
}

template <typename Loop>
void ChangePlanes(const Tensor& image, Tensor& out, const Loop& loop) {
  RgbPlanes planes;
  ChangeUnitFloats(image, out, [&](const float* from, float* to, size_t count, size_t) {
    planes.Split(from, count / 3);
    loop(planes, count / 3);
    planes.Join(to, count / 3);
  });
}

}  // namespace

void ScaleSaturation(const Tensor& image, float factor, Tensor& out) {
  ChangePlanes(image, out, [factor](RgbPlanes& planes, size_t pixels) {
    ScaleDistances(planes, pixels, factor);
  });
}

void RotateHue(const Tensor& image, float turns, Tensor& out) {
  float sixths = 6 * (turns - std::floor(turns));
  if (sixths >= 6) sixths = 0;
  ChangePlanes(image, out,
               [sixths](RgbPlanes& planes, size_t pixels) { Rotate(planes, pixels, sixths); });
}

}  // namespace penstock
