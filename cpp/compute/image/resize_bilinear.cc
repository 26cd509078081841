// Separable bilinear interpolation: each input row is converted and interpolated along x once (in
// one step for bytes), and two such rows are blended into each output row.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "compute/cast_items.h"
#include "compute/image/byte_lanes.h"
#include "compute/image/byte_pixels.h"
#include "compute/image/resize.h"

namespace penstock {
namespace {

std::vector<Tap> Taps(const AxisPart& from, int64_t to, int64_t step) {
  std::vector<Tap> taps(static_cast<size_t>(to));
  float scale = from.length / static_cast<float>(to);
  for (int64_t i = 0; i < to; ++i) {
    float at = (static_cast<float>(i) + 0.5f) * scale - 0.5f + from.begin;
    float floor = std::floor(at);
    int64_t upper = std::min(static_cast<int64_t>(std::ceil(at)), from.pixels - 1);
    int64_t lower = std::min(std::max(static_cast<int64_t>(floor), int64_t{0}), upper);
    taps[i] = {lower * step, upper * step, at - floor};
  }
  return taps;
}

// Processes images sequentially, row by row.
class Bilinear final : public Rows {
 public:
  Bilinear(const uint8_t* in, TypeCode type, const ImageBatch& from, const AxisParts& part,
           const ImageBatch& to, const Region& region)
      : in_(in),
        in_row_(from.width * from.channels),
        in_bytes_(in_row_ * DType::Of(type).itemsize),
        image_(from.height * in_bytes_),
        end_(in + from.count * image_),
        out_row_(region.width * to.channels),
        channels_(from.channels),
        columns_(Stretch(Taps(part.columns, to.width, from.channels), region.x, region.width)),
        rows_(Stretch(Taps(part.rows, to.height, 1), region.y, region.height)),
        scratch_(static_cast<size_t>(in_row_ + 2 * out_row_ + 3 * kSpareFloats)),
        loops_(ResizeLoopsOf(ChosenInstructionSet())),
        convert_(FindCast(type, TypeCode::kFloat32)),
        blend_columns_(loops_.BlenderOf(from.channels)) {
    top_ = scratch_.data() + in_row_ + kSpareFloats;
    bottom_ = top_ + out_row_ + kSpareFloats;
    constexpr int64_t kLongest = std::numeric_limits<int32_t>::max();
    if (type != TypeCode::kUInt8 || !loops_.blend_bytes[0] || in_row_ > kLongest) return;
    if (channels_ == 3 && loops_.blend_pixels) {
      pixels_.emplace(columns_);
      return;
    }
    lanes_.emplace(columns_, channels_);
    if (lanes_->windows() > 0) blend_bytes_ = loops_.blend_bytes[lanes_->windows() - 1];
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
      loops_.blend_rows(top_, tap.upper == tap.lower ? top_ : bottom_, tap.weight, out_row_, out);
    }
  }

 private:
  void Fill(float* row, int64_t y) {
    const uint8_t* in = in_ + y * in_bytes_;
    if (pixels_) {
      loops_.blend_pixels(WithWindow(in), pixels_->taps(), row);
      return;
    }
    if (blend_bytes_) {
      blend_bytes_(WithWindow(in), lanes_->taps(), row);
      return;
    }
    convert_(in, scratch_.data(), static_cast<size_t>(in_row_));
    blend_columns_(scratch_.data(), columns_.data(), static_cast<int64_t>(columns_.size()),
                   channels_, row);
  }

  // Returns the row, or a copy of it if fewer than a window's bytes are readable after it.
  const uint8_t* WithWindow(const uint8_t* in) {
    if (end_ - in >= in_bytes_ + ByteTaps::kWindow) return in;
    return static_cast<const uint8_t*>(
        std::memcpy(scratch_.data(), in, static_cast<size_t>(in_bytes_)));
  }

  const uint8_t* in_;
  const int64_t in_row_, in_bytes_, image_;
  const uint8_t* const end_;  // of all images
  const int64_t out_row_, channels_;
  const std::vector<Tap> columns_, rows_;
  std::vector<float> scratch_;  // an input row, and the two rows to blend
  const ResizeLoops& loops_;
  const CastLoop convert_;
  const ResizeLoops::BlendColumns blend_columns_;
  // Used if set:
  std::optional<BytePixels> pixels_;
  std::optional<ByteLanes> lanes_;
  ResizeLoops::BlendBytes blend_bytes_ = nullptr;  // used if not null
  float *top_, *bottom_;
  int64_t top_row_ = -1, bottom_row_ = -1;  // the input rows that they hold
  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Rows> BilinearRows(const Tensor& images, const ImageBatch& from,
                                   const AxisParts& part, const ImageBatch& to,
                                   const Region& region) {
  return std::make_unique<Bilinear>(images.data(), images.dtype().code, from, part, to, region);
}

}  // namespace penstock
