// Processes images of any number type as float32, one run of items at a time. A run stays in the L1
// cache, so that memory is read only once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "compute/image/image_conversion.h"
#include "compute/image/pixel_loops.h"
#include "data/tensor.h"

namespace penstock {

// One number per channel, repeated: the operand for the items of a run.
class ChannelRow {
 public:
  explicit ChannelRow(const std::vector<float>& values)
      : channels_(values.size()), row_(channels_ + kRunFloats) {
    for (size_t i = 0; i < row_.size(); ++i) row_[i] = values[i % channels_];
  }
  // The operand for a run that begins at item number `first` of an image.
  const float* From(size_t first) const { return row_.data() + first % channels_; }

 private:
  const size_t channels_;
  std::vector<float> row_;
};

// Calls visit(floats, count, first) for each run in order; `first` is the number of its first item,
// a multiple of kRunFloats.
template <typename Visit>
void VisitFloats(const ImageConversion& load, const uint8_t* in, size_t count, const Visit& visit) {
  alignas(64) float loaded[kRunFloats];
  for (size_t done = 0; done < count; done += kRunFloats) {
    size_t n = std::min(kRunFloats, count - done);
    const uint8_t* from = in + done * load.from_size();
    if (load.same()) {
      visit(reinterpret_cast<const float*>(from), n, done);
    } else {
      load.Run(from, reinterpret_cast<uint8_t*>(loaded), n);
      visit(loaded, n, done);
    }
  }
}

// Calls change(from, to, count, first), which must fill `to`, for each run.
template <typename Change>
void ChangeFloats(const ImageConversion& load, const uint8_t* in, const ImageConversion& store,
                  uint8_t* out, size_t count, const Change& change) {
  alignas(64) float made[kRunFloats];
  VisitFloats(load, in, count, [&](const float* from, size_t n, size_t first) {
    uint8_t* to = out + first * store.to_size();
    if (store.same()) {
      change(from, reinterpret_cast<float*>(to), n, first);
    } else {
      change(from, made, n, first);
      store.Run(reinterpret_cast<const uint8_t*>(made), to, n);
    }
  });
}

// The same between images whose integers represent [0, 1]; values outside are clipped.
template <typename Change>
void ChangeUnitFloats(const Tensor& image, Tensor& out, const Change& change) {
  TypeCode type = image.dtype().code;
  ChangeFloats(ImageConversion::Scaled(type, TypeCode::kFloat32, false), image.data(),
               ImageConversion::Scaled(TypeCode::kFloat32, type, true), out.mutable_data(),
               static_cast<size_t>(image.elements()), change);
}

}  // namespace penstock
