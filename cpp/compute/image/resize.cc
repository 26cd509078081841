// image.resize: resizes images.
#include "compute/image/resize.h"

#include <algorithm>
#include <cmath>

#include "compute/image/region.h"
#include "compute/new_op.h"
#include "compute/real_types.h"

namespace penstock {
namespace {

constexpr Operand kImages{"resize", "images"};
constexpr Operand kResizeSize{"resize", "size"};

class Resize final : public ResizeOp {
 public:
  explicit Resize(const Args& args)
      : method_(args.Text("method")),
        preserve_aspect_ratio_(args.Bool("preserve_aspect_ratio")),
        antialias_(args.Bool("antialias")) {
    if (method_ != "nearest" &&
        FilterOf(method_, antialias_, AxisPart::Whole(1), 1).spans.empty()) {
      throw Error(ErrorKind::kInvalidArgument,
                  "resize: method must be 'bilinear', 'nearest', 'bicubic', 'area', 'lanczos3', "
                  "'lanczos5', 'gaussian' or 'mitchellcubic', got '{}'",
                  method_);
    }
  }

  Unmade Open(const std::vector<Tensor>& inputs, RandomKey) const override {
    CheckInputs("resize", inputs, 2);
    const Tensor& images = inputs[0];
    ImageBatch from = kImages.Images(images);
    TypeCode type = images.dtype().code;
    if (!nearest() && !IsInteger(type) && !IsFloating(type)) {
      throw Error(ErrorKind::kType,
                  "resize: images must be of an integer or float type for method '{}', got {}",
                  method_, images.dtype().name());
    }
    if (from.height < 1 || from.width < 1) {
      throw Error(ErrorKind::kInvalidArgument,
                  "resize: images must have at least one row and one column, got shape {}",
                  images.shape().ToString());
    }
    ImageBatch to = SizeOf(from, inputs[1]);
    Unmade made{{nearest() ? images.dtype() : DType::Of(TypeCode::kFloat32),
                 ResizedShape(images.shape(), to.height, to.width)}};
    auto begin = [this, images, from, to](const Region& region) {
      return Begin(images, from, AxisParts::Whole(from), to, region);
    };
    if (nearest()) {
      made.all = [images, from, to](Tensor& out) {
        if (out.elements() == 0) return;
        ResizeNearest(images.data(), from, from.channels * images.dtype().itemsize, to,
                      out.mutable_data());
      };
    } else if (images.shape().rank() == 3) {
      made.begin = std::move(begin);
    } else {
      made.all = [begin = std::move(begin), to](Tensor& out) {
        if (out.elements() == 0) return;
        Tensor rows = out.Reshaped({to.count * to.height, to.width, to.channels});
        begin({0, 0, to.height, to.width})->Next(rows);
      };
    }
    return made;
  }

  bool interpolates() const override { return !nearest(); }
  std::unique_ptr<Rows> FromBox(const Tensor& image, const Box& box, const Shape& made,
                                const Region& region) const override {
    const ImageBatch from = kImages.Images(image);
    const AxisParts part{{from.height, static_cast<float>(box.y), static_cast<float>(box.height)},
                         {from.width, static_cast<float>(box.x), static_cast<float>(box.width)}};
    return Begin(image, from, part, {1, made[0], made[1], from.channels}, region);
  }

 private:
  bool nearest() const { return method_ == "nearest"; }

  std::unique_ptr<Rows> Begin(const Tensor& images, const ImageBatch& from, const AxisParts& part,
                              const ImageBatch& to, const Region& region) const {
    if (method_ == "bilinear" && !antialias_) return BilinearRows(images, from, part, to, region);
    return FilteredRows(images, from, FilterOf(method_, antialias_, part.rows, to.height),
                        FilterOf(method_, antialias_, part.columns, to.width), region);
  }

  ImageBatch SizeOf(const ImageBatch& from, const Tensor& wanted) const {
    std::vector<int64_t> size = kResizeSize.Integers(wanted, 2);
    if (std::min(size[0], size[1]) < 1 || std::max(size[0], size[1]) > kMaxSide) {
      throw Error(ErrorKind::kInvalidArgument,
                  "resize: size must be (height, width), both from 1 to 2^31 - 1, got ({}, {})",
                  size[0], size[1]);
    }
    ImageBatch to{from.count, size[0], size[1], from.channels};
    if (preserve_aspect_ratio_) {
      // In float32, with halves rounded to even, as in TensorFlow.
      auto height = static_cast<float>(from.height), width = static_cast<float>(from.width);
      float scale =
          std::min(static_cast<float>(size[0]) / height, static_cast<float>(size[1]) / width);
      to.height = std::max<int64_t>(1, static_cast<int64_t>(std::nearbyint(scale * height)));
      to.width = std::max<int64_t>(1, static_cast<int64_t>(std::nearbyint(scale * width)));
    }
    return to;
  }

  std::string method_;
  bool preserve_aspect_ratio_;
  bool antialias_;
};

const RegisterOp image_resize_op("image.resize", NewOp<Resize>);

}  // namespace
}  // namespace penstock
