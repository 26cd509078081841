// Interpolates an output row from a row of pixels of three bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "compute/image/resize_loops.h"

namespace penstock {

class BytePixels {
 public:
  // `columns`: the neighbours of each output pixel.
  explicit BytePixels(const std::vector<Tap>& columns);

  PixelTaps taps() const {
    return {windows_.data(), weights_.data(), static_cast<int64_t>(windows_.size())};
  }

 private:
  std::vector<int32_t> windows_;
  std::vector<float> weights_;
};

}  // namespace penstock
