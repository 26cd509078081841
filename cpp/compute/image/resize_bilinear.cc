// Bilinear interpolation, separable: each input row is converted and interpolated along x once, and
// two such rows at a time are blended into an output row.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "compute/cast_items.h"
#include "compute/image/resize.h"

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

// One image after another, row by row.
class Bilinear final : public Rows {
 public:
  Bilinear(const uint8_t* in, TypeCode type, const ImageBatch& from, const ImageBatch& to,
           const Region& region)
      : in_(in),
        in_row_(from.width * from.channels),
        in_bytes_(in_row_ * DType::Of(type).itemsize),
        image_(from.height * in_bytes_),
        out_row_(region.width * to.channels),
        channels_(from.channels),
        columns_(Stretch(Taps(from.width, to.width, from.channels), region.x, region.width)),
        rows_(Stretch(Taps(from.height, to.height, 1), region.y, region.height)),
        scratch_(static_cast<size_t>(in_row_ + 2 * out_row_ + 3 * kSpareFloats)),
        convert_(FindCast(type, TypeCode::kFloat32)),
        blend_columns_(ColumnBlender(from.channels)) {
    top_ = scratch_.data() + in_row_ + kSpareFloats;
    bottom_ = top_ + out_row_ + kSpareFloats;
  }

  void Next(Tensor& made) override {
    auto* out = reinterpret_cast<float*>(made.mutable_data());
    for (int64_t rows = made.shape()[0]; rows > 0; --rows, out += out_row_) {
      if (next_ == rows_.size()) {
        next_ = 0;
        in_ += image_;
        top_row_ = bottom_row_ = -1;
      }
      const Tap& tap = rows_[next_++];
      if (tap.lower != top_row_) {
        std::swap(top_, bottom_);
        std::swap(top_row_, bottom_row_);
        if (tap.lower != top_row_) Fill(top_, top_row_ = tap.lower);
      }
      if (tap.upper != tap.lower && tap.upper != bottom_row_) {
        Fill(bottom_, bottom_row_ = tap.upper);
      }
      BlendRows(top_, tap.upper == tap.lower ? top_ : bottom_, tap.weight, out_row_, out);
    }
  }

 private:
  void Fill(float* row, int64_t y) {
    convert_(in_ + y * in_bytes_, scratch_.data(), static_cast<size_t>(in_row_));
    blend_columns_(scratch_.data(), columns_, channels_, row);
  }

  const uint8_t* in_;
  const int64_t in_row_, in_bytes_, image_, out_row_, channels_;
  const std::vector<Tap> columns_, rows_;
  std::vector<float> scratch_;  // an input row, and the two that are blended
  const CastLoop convert_;
  const decltype(ColumnBlender(0)) blend_columns_;
  float *top_, *bottom_;
  int64_t top_row_ = -1, bottom_row_ = -1;  // what the two hold
  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Rows> BilinearRows(const Tensor& images, const ImageBatch& from,
                                   const ImageBatch& to, const Region& region) {
  return std::make_unique<Bilinear>(images.data(), images.dtype().code, from, to, region);
}

}  // namespace penstock
