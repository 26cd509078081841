// The windows and weights for a row, padded to a multiple of the pixels that are processed
// together.
#include "compute/image/byte_pixels.h"

#include <algorithm>

namespace penstock {

BytePixels::BytePixels(const std::vector<Tap>& columns) {
  constexpr size_t kTogether = PixelTaps::kTogether;
  const size_t pixels = (columns.size() + kTogether - 1) / kTogether * kTogether;
  windows_.resize(pixels);
  weights_.resize(4 * pixels);
  for (size_t i = 0; i < columns.size(); ++i) {
    const Tap& tap = columns[i];
    windows_[i] = static_cast<int32_t>(tap.lower);
    std::fill_n(weights_.begin() + static_cast<ptrdiff_t>(4 * i), 4,
                tap.upper == tap.lower ? 0 : tap.weight);
  }
}

}  // namespace penstock
