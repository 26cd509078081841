// The resampling loops. All take rows of `channels` interleaved values, and compute in float32.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compute/image/resize_loops.h"
#include "compute/op.h"
#include "compute/operand.h"
#include "data/dtype.h"

namespace penstock {

// Copies pixels of any type; `pixel` is the size of a pixel in bytes.
void ResizeNearest(const uint8_t* in, const ImageBatch& from, int64_t pixel, const ImageBatch& to,
                   uint8_t* out);

// The part of an axis that is resized: `length` pixels from `begin` on. Pixels partly inside it
// count as neighbours.
struct AxisPart {
  int64_t pixels;
  float begin, length;

  static AxisPart Whole(int64_t pixels) { return {pixels, 0, static_cast<float>(pixels)}; }
};

// The parts of both axes.
struct AxisParts {
  AxisPart rows, columns;

  static AxisParts Whole(const ImageBatch& images) {
    return {AxisPart::Whole(images.height), AxisPart::Whole(images.width)};
  }
};

// A region of images (for several images stored consecutively: whole images) by the formula of
// TensorFlow's ResizeBilinear with half-pixel centers, operation by operation. Here and below, the
// images must outlive the result.
std::unique_ptr<Rows> BilinearRows(const Tensor& images, const ImageBatch& from,
                                   const AxisParts& part, const ImageBatch& to,
                                   const Region& region);

// For each output position, its inputs [first, first + count) and their weights.
struct Filter {
  std::vector<FilterSpan> spans;
  std::vector<float> weights;
};

// The filter that resizes a part of an axis to `to` pixels with that method: as TensorFlow's
// ResizeBicubic and ResizeArea, or, for the other methods and for all with `antialias`, its
// ScaleAndTranslate. Empty for an unknown name.
Filter FilterOf(const std::string& method, bool antialias, const AxisPart& from, int64_t to);

// The same with two filters, rows first. Sums are accumulated in the order of the inputs.
std::unique_ptr<Rows> FilteredRows(const Tensor& images, const ImageBatch& from, Filter rows,
                                   Filter columns, const Region& region);

// A slice of a table with one entry for each position along an axis.
template <typename T>
std::vector<T> Stretch(const std::vector<T>& axis, int64_t begin, int64_t count) {
  return {axis.begin() + begin, axis.begin() + begin + count};
}

}  // namespace penstock
