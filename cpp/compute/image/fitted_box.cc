// image.fitted_box: where image.resize_with_pad places images.
#include <algorithm>
#include <cmath>

#include "compute/image/region.h"
#include "compute/new_op.h"

namespace penstock {
namespace {

constexpr Operand kFittedImage{"resize_with_pad", "image"};
constexpr Operand kFittedTarget{"resize_with_pad", "target_height and target_width"};

// Inputs: the image, then height and width of the canvas. The output is top, left, height and width
// of the largest centered box on the canvas with the proportions of the image.
class FittedBox final : public FillOp {
 public:
  bool reads_shapes() const override { return true; }

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("resize_with_pad", inputs, 3);
    ImageBatch images = kFittedImage.Images(inputs[0]);
    if (images.height < 1 || images.width < 1) {
      throw Error(ErrorKind::kInvalidArgument,
                  "resize_with_pad: image must have at least one row and one column, got shape {}",
                  inputs[0].shape().ToString());
    }
    std::vector<int64_t> target = IntegersFrom(kFittedTarget, inputs, 1, 2);
    auto [least, most] = std::ranges::minmax(target);
    if (least < 1 || most > kMaxSide) {
      throw Error(ErrorKind::kInvalidArgument,
                  "resize_with_pad: target_height and target_width must be from 1 to 2^31 - 1, got "
                  "{} and {}",
                  target[0], target[1]);
    }
    return {DType::Of(TypeCode::kInt64), {4}};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    ImageBatch images = kFittedImage.Images(inputs[0]);
    std::vector<int64_t> target = IntegersFrom(kFittedTarget, inputs, 1, 2);
    // In float32, as in TensorFlow.
    const auto height = static_cast<float>(images.height), width = static_cast<float>(images.width);
    const float ratio =
        std::max(width / static_cast<float>(target[1]), height / static_cast<float>(target[0]));
    auto* box = reinterpret_cast<int64_t*>(out.mutable_data());
    Fit(height / ratio, target[0], &box[0], &box[2]);
    Fit(width / ratio, target[1], &box[1], &box[3]);
  }

 private:
  static void Fit(float size, int64_t target, int64_t* offset, int64_t* count) {
    const float margin = std::floor((static_cast<float>(target) - size) / 2);
    *count = std::clamp<int64_t>(static_cast<int64_t>(std::floor(size)), 1, target);
    *offset = std::clamp<int64_t>(static_cast<int64_t>(margin), 0, target - *count);
  }
};

const RegisterOp image_fitted_box_op("image.fitted_box", NewOp<FittedBox>);

}  // namespace
}  // namespace penstock
