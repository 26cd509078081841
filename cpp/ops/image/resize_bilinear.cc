// Bilinear interpolation, separable: each input row is converted and interpolated along x once, and
// two such rows at a time are blended into an output row.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "ops/cast_items.h"
#include "ops/image/resize.h"

namespace penstock {
namespace {

// The two neighbours of an output position, as offsets into a row, and the weight of the upper one.
struct Tap {
  int64_t lower, upper;
  float weight;
};

std::vector<Tap> Taps(int64_t from, int64_t to, int64_t step) {
  std::vector<Tap> taps(static_cast<size_t>(to));
  float scale = static_cast<float>(from) / static_cast<float>(to);
  for (int64_t i = 0; i < to; ++i) {
    float at = (static_cast<float>(i) + 0.5f) * scale - 0.5f;
    float floor = std::floor(at);
    int64_t upper = std::min(static_cast<int64_t>(std::ceil(at)), from - 1);
    int64_t lower = std::min(std::max(static_cast<int64_t>(floor), int64_t{0}), upper);
    taps[i] = {lower * step, upper * step, at - floor};
  }
  return taps;
}

template <int kChannels>
void BlendColumns(const float* __restrict in, const std::vector<Tap>& taps, int64_t channels,
                  float* __restrict out) {
  if (kChannels) channels = kChannels;
  for (const Tap& tap : taps) {
    const float* lower = in + tap.lower;
    const float* upper = in + tap.upper;
    if constexpr (kChannels == 3 || kChannels == 4) {
      auto low = *reinterpret_cast<const Float4*>(lower);
      auto high = *reinterpret_cast<const Float4*>(upper);
      *reinterpret_cast<Float4*>(out) = low + (high - low) * tap.weight;
    } else {
      for (int64_t c = 0; c < channels; ++c) {
        out[c] = lower[c] + (upper[c] - lower[c]) * tap.weight;
      }
    }
    out += channels;
  }
}

auto ColumnBlender(int64_t channels) {
  switch (channels) {
    case 1:
      return BlendColumns<1>;
    case 3:
      return BlendColumns<3>;
    case 4:
      return BlendColumns<4>;
    default:
      return BlendColumns<0>;
  }
}

void BlendRows(const float* __restrict top, const float* __restrict bottom, float weight,
               int64_t count, float* __restrict out) {
  for (int64_t i = 0; i < count; ++i) out[i] = top[i] + (bottom[i] - top[i]) * weight;
}

}  // namespace

void ResizeBilinear(const uint8_t* in, TypeCode type, const ImageBatch& from, const ImageBatch& to,
                    float* out) {
  const int64_t in_row = from.width * from.channels, out_row = to.width * to.channels;
  const int64_t in_bytes = in_row * DType::Of(type).itemsize;
  std::vector<Tap> columns = Taps(from.width, to.width, from.channels);
  std::vector<Tap> rows = Taps(from.height, to.height, 1);
  std::vector<float> scratch(static_cast<size_t>(in_row + 2 * out_row + 3 * kSpareFloats));
  CastLoop convert = FindCast(type, TypeCode::kFloat32);
  auto blend_columns = ColumnBlender(from.channels);
  float* source = scratch.data();
  float* top = source + in_row + kSpareFloats;
  float* bottom = top + out_row + kSpareFloats;

  for (int64_t n = 0; n < to.count; ++n, in += from.height * in_bytes) {
    int64_t top_row = -1, bottom_row = -1;  // what the two buffers hold
    auto fill = [&](float* row, int64_t y) {
      convert(in + y * in_bytes, source, static_cast<size_t>(in_row));
      blend_columns(source, columns, from.channels, row);
    };
    for (const Tap& tap : rows) {
      if (tap.lower != top_row) {
        std::swap(top, bottom);
        std::swap(top_row, bottom_row);
        if (tap.lower != top_row) fill(top, top_row = tap.lower);
      }
      if (tap.upper != tap.lower && tap.upper != bottom_row) fill(bottom, bottom_row = tap.upper);
      BlendRows(top, tap.upper == tap.lower ? top : bottom, tap.weight, out_row, out);
      out += out_row;
    }
  }
}

}  // namespace penstock
