// The loops of image.adjust_* and image.random_*: each changes a whole image by one number.
#pragma once

#include "data/tensor.h"

namespace penstock {

// `out` has the shape and dtype of `image`, whose items are integers or floats. Integers represent
// [0, 1] and are clipped to it.
using Adjustment = void (*)(const Tensor& image, float amount, Tensor& out);

void AddBrightness(const Tensor& image, float delta, Tensor& out);
// Needs at least three axes, the last of which is the channels; each channel of an image has its
// own mean.
void ScaleContrast(const Tensor& image, float factor, Tensor& out);
// Needs three channels.
void ScaleSaturation(const Tensor& image, float factor, Tensor& out);
void RotateHue(const Tensor& image, float turns, Tensor& out);

}  // namespace penstock
