// image.resize: images at another size.
#include "ops/image/resize.h"

#include <algorithm>
#include <cmath>

#include "ops/new_op.h"
#include "ops/real_types.h"

namespace penstock {
namespace {

constexpr Operand kImages{"resize", "images"};

class Resize final : public FillOp {
 public:
  explicit Resize(const Args& args)
      : size_(args.Ints("size")),
        nearest_(args.Text("method") == "nearest"),
        preserve_aspect_ratio_(args.Bool("preserve_aspect_ratio")),
        antialias_(args.Bool("antialias")) {
    if (size_.size() != 2 || size_[0] < 1 || size_[1] < 1) {
      std::string text;
      for (int64_t n : size_) text += (text.empty() ? "" : ", ") + std::to_string(n);
      throw Error(ErrorKind::kInvalidArgument,
                  "resize: size must be (height, width), both >= 1, got ({})", text);
    }
    if (!nearest_ && args.Text("method") != "bilinear") {
      throw Error(ErrorKind::kInvalidArgument,
                  "resize: method must be 'bilinear' or 'nearest', got '{}'", args.Text("method"));
    }
  }

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("resize", inputs, 1);
    const Tensor& images = inputs[0];
    ImageBatch from = kImages.Images(images);
    TypeCode type = images.dtype().code;
    if (!nearest_ && !IsInteger(type) && !IsFloating(type)) {
      throw Error(
          ErrorKind::kType,
          "resize: images must be of an integer or float type for method 'bilinear', got {}",
          images.dtype().name());
    }
    if (from.height < 1 || from.width < 1) {
      throw Error(ErrorKind::kInvalidArgument,
                  "resize: images must have at least one row and one column, got shape {}",
                  images.shape().ToString());
    }
    ImageBatch to = SizeOf(from);
    Shape shape = images.shape();
    shape[shape.rank() - 3] = to.height;
    shape[shape.rank() - 2] = to.width;
    return {nearest_ ? images.dtype() : DType::Of(TypeCode::kFloat32), shape};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    const Tensor& images = inputs[0];
    ImageBatch from = kImages.Images(images), to = SizeOf(from);
    if (out.elements() == 0) return;
    if (nearest_) {
      ResizeNearest(images.data(), from, from.channels * images.dtype().itemsize, to,
                    out.mutable_data());
      return;
    }
    auto resize = antialias_ ? ResizeAntialiased : ResizeBilinear;
    resize(images.data(), images.dtype().code, from, to,
           reinterpret_cast<float*>(out.mutable_data()));
  }

 private:
  ImageBatch SizeOf(const ImageBatch& from) const {
    ImageBatch to{from.count, size_[0], size_[1], from.channels};
    if (preserve_aspect_ratio_) {
      // float32, halves to even, as TensorFlow computes it.
      auto height = static_cast<float>(from.height), width = static_cast<float>(from.width);
      float scale =
          std::min(static_cast<float>(size_[0]) / height, static_cast<float>(size_[1]) / width);
      to.height = std::max<int64_t>(1, static_cast<int64_t>(std::nearbyint(scale * height)));
      to.width = std::max<int64_t>(1, static_cast<int64_t>(std::nearbyint(scale * width)));
    }
    return to;
  }

  std::vector<int64_t> size_;
  bool nearest_;
  bool preserve_aspect_ratio_;
  bool antialias_;
};

const RegisterOp registration("image.resize", NewOp<Resize>);

}  // namespace
}  // namespace penstock
