// Saturation and hue of RGB.
#include <cmath>

#include "compute/image/adjustments.h"
#include "compute/image/image_floats.h"

namespace penstock {
namespace {

template <typename Loop>
void ChangePlanes(const Tensor& image, Tensor& out, const Loop& loop) {
  const PixelLoops& loops = PixelLoopsOf(ChosenInstructionSet());
  RgbPlanes planes;
  ChangeUnitFloats(image, out, [&](const float* from, float* to, size_t count, size_t) {
    loops.split(from, count / 3, planes);
    loop(loops, planes, count / 3);
    loops.join(planes, count / 3, to);
  });
}

}  // namespace

void ScaleSaturation(const Tensor& image, float factor, Tensor& out) {
  ChangePlanes(image, out, [factor](const PixelLoops& loops, RgbPlanes& planes, size_t pixels) {
    loops.scale_distances(planes, pixels, factor);
  });
}

void RotateHue(const Tensor& image, float turns, Tensor& out) {
  float sixths = 6 * (turns - std::floor(turns));
  if (sixths >= 6) sixths = 0;
  ChangePlanes(image, out, [sixths](const PixelLoops& loops, RgbPlanes& planes, size_t pixels) {
    loops.rotate_hue(planes, pixels, sixths);
  });
}

}  // namespace penstock
