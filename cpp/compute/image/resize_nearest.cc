// Nearest neighbour: output pixel i copies input pixel floor((i + 0.5) * scale).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "compute/image/resize.h"

namespace penstock {
namespace {

std::vector<int64_t> Sources(int64_t from, int64_t to) {
  std::vector<int64_t> sources(static_cast<size_t>(to));
  float scale = static_cast<float>(from) / static_cast<float>(to);
  for (int64_t i = 0; i < to; ++i) {
    auto at = static_cast<int64_t>(std::floor((static_cast<float>(i) + 0.5f) * scale));
    sources[i] = std::clamp<int64_t>(at, 0, from - 1);
  }
  return sources;
}

// kPixel: the size in bytes if known, so that a copy is a load and a store.
template <int kPixel>
void CopyRow(const uint8_t* in, const std::vector<int64_t>& columns, int64_t pixel, uint8_t* out) {
  if (kPixel) pixel = kPixel;
  for (int64_t column : columns) {
    std::memcpy(out, in + column * pixel, static_cast<size_t>(pixel));
    out += pixel;
  }
}

auto RowCopier(int64_t pixel) {
  switch (pixel) {
    case 1:
      return CopyRow<1>;
    case 3:
      return CopyRow<3>;
    case 4:
      return CopyRow<4>;
    case 12:
      return CopyRow<12>;
    default:
      return CopyRow<0>;
  }
}

}  // namespace

void ResizeNearest(const uint8_t* in, const ImageBatch& from, int64_t pixel, const ImageBatch& to,
                   uint8_t* out) {
  std::vector<int64_t> rows = Sources(from.height, to.height);
  std::vector<int64_t> columns = Sources(from.width, to.width);
  auto copy = RowCopier(pixel);
  const int64_t in_row = from.width * pixel, out_row = to.width * pixel;
  for (int64_t n = 0; n < to.count; ++n, in += from.height * in_row) {
    for (int64_t y = 0; y < to.height; ++y, out += out_row) {
      if (y > 0 && rows[y] == rows[y - 1]) {
        std::memcpy(out, out - out_row, static_cast<size_t>(out_row));
      } else {
        copy(in + rows[y] * in_row, columns, pixel, out);
      }
    }
  }
}

}  // namespace penstock
