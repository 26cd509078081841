// image.crop_and_resize: crops boxes from images, and resizes them all to one size.
#include <algorithm>
#include <cmath>

#include "compute/cast_items.h"
#include "compute/image/region.h"
#include "compute/new_op.h"
#include "compute/real_types.h"

namespace penstock {
namespace {

constexpr Operand kResizedImage{"crop_and_resize", "image"};
constexpr Operand kBoxes{"crop_and_resize", "boxes"};
constexpr Operand kIndices{"crop_and_resize", "box_indices"};
constexpr Operand kCropAndResizeSize{"crop_and_resize", "crop_size"};
constexpr Operand kOutside{"crop_and_resize", "extrapolation_value"};

// The positions of output pixels along one axis of the image.
class Positions {
 public:
  // Covers the first to the last pixel if `begin` is 0 and `end` is 1.
  Positions(float begin, float end, int64_t pixels, int64_t count)
      : last_(static_cast<float>(pixels - 1)) {
    if (count > 1) {
      start_ = begin * last_;
      step_ = (end - begin) * last_ / static_cast<float>(count - 1);
    } else {
      start_ = 0.5f * (begin + end) * last_;
    }
  }

  float At(int64_t i) const { return start_ + static_cast<float>(i) * step_; }
  bool Inside(float at) const { return at >= 0 && at <= last_; }  // false for NaN

 private:
  float last_, start_, step_ = 0;
};

// Inputs: images, boxes, the image number of each box, the size of the results, and the value of
// pixels outside the image.
class CropAndResize final : public FillOp {
 public:
  explicit CropAndResize(const Args& args) : nearest_(args.Text("method") == "nearest") {
    if (!nearest_ && args.Text("method") != "bilinear") {
      throw Error(ErrorKind::kInvalidArgument,
                  "crop_and_resize: method must be 'bilinear' or 'nearest', got '{}'",
                  args.Text("method"));
    }
  }

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("crop_and_resize", inputs, 5);
    const Tensor &images = inputs[0], &boxes = inputs[1];
    ImageBatch from = kResizedImage.Images(images);
    TypeCode type = images.dtype().code;
    if (images.shape().rank() != 4 || from.height < 1 || from.width < 1) {
      throw Error(ErrorKind::kInvalidArgument,
                  "crop_and_resize: image must have shape (batch, height, width, channels) with at "
                  "least one row and one column, got {}",
                  images.shape().ToString());
    }
    if (!IsInteger(type) && !IsFloating(type)) {
      throw Error(ErrorKind::kType,
                  "crop_and_resize: image must be of an integer or float type, got {}",
                  images.dtype().name());
    }
    if (boxes.shape().rank() != 2 || boxes.shape()[1] != 4) {
      throw Error(ErrorKind::kInvalidArgument,
                  "crop_and_resize: boxes must have shape (count, 4), got {}",
                  boxes.shape().ToString());
    }
    const int64_t count = boxes.shape()[0];
    kBoxes.Numbers(boxes, 4 * count);
    for (int64_t index : kIndices.Integers(inputs[2], count)) {
      if (index < 0 || index >= from.count) {
        throw Error(ErrorKind::kInvalidArgument,
                    "crop_and_resize: box_indices must be numbers of the {} images, got {}",
                    from.count, index);
      }
    }
    std::vector<int64_t> size = kCropAndResizeSize.Integers(inputs[3], 2);
    if (std::min(size[0], size[1]) < 1 || std::max(size[0], size[1]) > kMaxSide) {
      throw Error(ErrorKind::kInvalidArgument,
                  "crop_and_resize: crop_size must be (height, width), both from 1 to 2^31 - 1, "
                  "got ({}, {})",
                  size[0], size[1]);
    }
    kOutside.Number(inputs[4]);
    return {DType::Of(TypeCode::kFloat32), {count, size[0], size[1], from.channels}};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    const Tensor& images = inputs[0];
    const ImageBatch from = kResizedImage.Images(images);
    const int64_t count = out.shape()[0];
    if (out.elements() == 0) return;
    const std::vector<double> boxes = kBoxes.Numbers(inputs[1], 4 * count);
    const std::vector<int64_t> indices = kIndices.Integers(inputs[2], count);
    const auto outside = static_cast<float>(kOutside.Number(inputs[4]));
    const int64_t values = from.height * from.width * from.channels;
    const int64_t result = out.elements() / count;
    CastLoop convert = FindCast(images.dtype().code, TypeCode::kFloat32);
    std::vector<float> image(static_cast<size_t>(values));
    int64_t converted = -1;
    auto* to = reinterpret_cast<float*>(out.mutable_data());
    for (int64_t n = 0; n < count; ++n, to += result) {
      if (indices[n] != converted) {
        converted = indices[n];
        convert(images.data() + converted * values * images.dtype().itemsize, image.data(),
                static_cast<size_t>(values));
      }
      const double* box = boxes.data() + 4 * n;
      auto edge = [&](int i) { return static_cast<float>(box[i]); };
      Positions rows(edge(0), edge(2), from.height, out.shape()[1]);
      Positions columns(edge(1), edge(3), from.width, out.shape()[2]);
      CropOne(image.data(), from, rows, columns, out.shape(), outside, to);
    }
  }

 private:
  void CropOne(const float* image, const ImageBatch& from, const Positions& rows,
               const Positions& columns, const Shape& shape, float outside, float* out) const {
    for (int64_t i = 0; i < shape[1]; ++i) {
      const float y = rows.At(i);
      for (int64_t j = 0; j < shape[2]; ++j, out += from.channels) {
        const float x = columns.At(j);
        if (!rows.Inside(y) || !columns.Inside(x)) {
          std::fill_n(out, from.channels, outside);
        } else if (nearest_) {
          std::copy_n(Pixel(image, from, std::round(y), std::round(x)), from.channels, out);
        } else {
          Blend(image, from, y, x, out);
        }
      }
    }
  }

  // In images so large that float32 cannot represent each pixel's index, positions past the end use
  // the last pixel.
  static const float* Pixel(const float* image, const ImageBatch& from, float y, float x) {
    const int64_t row = std::min(static_cast<int64_t>(y), from.height - 1);
    const int64_t column = std::min(static_cast<int64_t>(x), from.width - 1);
    return image + (row * from.width + column) * from.channels;
  }

  static void Blend(const float* image, const ImageBatch& from, float y, float x, float* out) {
    const float top = std::floor(y), bottom = std::ceil(y);
    const float left = std::floor(x), right = std::ceil(x);
    const float* corners[] = {Pixel(image, from, top, left), Pixel(image, from, top, right),
                              Pixel(image, from, bottom, left), Pixel(image, from, bottom, right)};
    for (int64_t c = 0; c < from.channels; ++c) {
      float above = corners[0][c] + (corners[1][c] - corners[0][c]) * (x - left);
      float below = corners[2][c] + (corners[3][c] - corners[2][c]) * (x - left);
      out[c] = above + (below - above) * (y - top);
    }
  }

  const bool nearest_;
};

const RegisterOp image_crop_and_resize_op("image.crop_and_resize", NewOp<CropAndResize>);

}  // namespace
}  // namespace penstock
