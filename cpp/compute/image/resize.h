// The resampling loops. All take rows of `channels` interleaved values, and compute in float32.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compute/op.h"
#include "compute/operand.h"
#include "data/dtype.h"

namespace penstock {

// Four adjacent floats at the address of any float. Pixels of three are handled as four values, of
// which the last is the next pixel's: rows end in spare floats for it.
using Float4 [[gnu::vector_size(16), gnu::aligned(4), gnu::may_alias]] = float;
constexpr int64_t kSpareFloats = 4;

// Copies pixels of any type; `pixel` is the size of one, bytes.
void ResizeNearest(const uint8_t* in, const ImageBatch& from, int64_t pixel, const ImageBatch& to,
                   uint8_t* out);

// The formula of TensorFlow's ResizeBilinear with half-pixel centers, operation by operation.
void ResizeBilinear(const uint8_t* in, TypeCode type, const ImageBatch& from, const ImageBatch& to,
                    float* out);
// The rows of the first image, one after the other.
std::unique_ptr<Strips> BilinearStrips(const uint8_t* in, TypeCode type, const ImageBatch& from,
                                       const ImageBatch& to);

// For each output position the inputs [first, first + count) with their weights.
struct Filter {
  struct Span {
    int64_t first, count;
    size_t weights;  // where they begin
  };
  std::vector<Span> spans;
  std::vector<float> weights;
};

// How an axis of `from` pixels becomes one of `to` by the method of that name: TensorFlow's
// ResizeBicubic and ResizeArea, and for the other methods, and for all with `antialias`, its
// ScaleAndTranslate. Empty for a name that is none of them.
Filter FilterOf(const std::string& method, bool antialias, int64_t from, int64_t to);

// Both filters, rows first. Sums are made in the order of the inputs.
void ResizeFiltered(const uint8_t* in, TypeCode type, const ImageBatch& from, const ImageBatch& to,
                    Filter rows, Filter columns, float* out);
// The rows of the first image, one after the other.
std::unique_ptr<Strips> FilteredStrips(const uint8_t* in, TypeCode type, const ImageBatch& from,
                                       const ImageBatch& to, Filter rows, Filter columns);

}  // namespace penstock
