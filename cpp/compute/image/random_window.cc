// image.random_window: the window that image.random_resized_crop cuts.
#include <algorithm>
#include <cmath>

#include "compute/new_op.h"
#include "compute/operand.h"

namespace penstock {
namespace {

constexpr int kAttempts = 10;
constexpr Operand kRandomImage{"random_resized_crop", "image"};

struct Range {
  double low, high;
  double Draw(RandomKey key, uint64_t counter) const {
    return low + (high - low) * key.DrawUnit(counter);
  }
};

Range RangeOf(const Tensor& tensor, const char* argument) {
  std::vector<double> ends = Operand{"random_resized_crop", argument}.Numbers(tensor, 2);
  if (!(ends[0] > 0 && ends[0] <= ends[1] && std::isfinite(ends[1]))) {
    throw Error(ErrorKind::kInvalidArgument,
                "random_resized_crop: {} must be (low, high) with 0 < low <= high, got ({}, {})",
                std::string_view(argument), ends[0], ends[1]);
  }
  return {ends[0], ends[1]};
}

// Inputs: the image, the range of its area's share, the range of the aspect ratio. The output is
// top, left, height and width.
class RandomWindow final : public FillOp {
 public:
  bool random() const override { return true; }
  bool reads_shapes() const override { return true; }

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("random_resized_crop", inputs, 3);
    const Shape& shape = inputs[0].shape();
    kRandomImage.CheckDense(inputs[0]);
    if (shape.rank() != 3 || shape[0] < 1 || shape[1] < 1) {
      throw Error(ErrorKind::kInvalidArgument,
                  "random_resized_crop: image must have shape (height, width, channels) with at "
                  "least one row and one column, got {}; use it before batch",
                  shape.ToString());
    }
    RangeOf(inputs[1], "scale");
    RangeOf(inputs[2], "ratio");
    return {DType::Of(TypeCode::kInt64), {4}};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey key) const override {
    ImageBatch image = kRandomImage.Images(inputs[0]);
    Region window = Draw(image, RangeOf(inputs[1], "scale"), RangeOf(inputs[2], "ratio"), key);
    const int64_t numbers[] = {window.y, window.x, window.height, window.width};
    std::copy_n(numbers, 4, reinterpret_cast<int64_t*>(out.mutable_data()));
  }

 private:
  static Region Draw(const ImageBatch& image, Range scale, Range ratio, RandomKey key) {
    const auto height = static_cast<double>(image.height), width = static_cast<double>(image.width);
    const Range log_ratio{std::log(ratio.low), std::log(ratio.high)};
    for (uint64_t attempt = 0; attempt < kAttempts; ++attempt) {
      const uint64_t counter = 4 * attempt;
      double area = height * width * scale.Draw(key, counter);
      double aspect = std::exp(log_ratio.Draw(key, counter + 1));
      double columns = std::nearbyint(std::sqrt(area * aspect)),
             rows = std::nearbyint(std::sqrt(area / aspect));
      if (!(columns >= 1 && columns <= width && rows >= 1 && rows <= height)) continue;
      auto w = static_cast<int64_t>(columns), h = static_cast<int64_t>(rows);
      auto place = [&](uint64_t number, int64_t room) {
        return static_cast<int64_t>(
            key.DrawBelow(counter + number, static_cast<uint64_t>(room) + 1));
      };
      return {place(2, image.height - h), place(3, image.width - w), h, w};
    }
    return Central(image, ratio);
  }

  // The largest centered window that the range of ratios allows.
  static Region Central(const ImageBatch& image, Range ratio) {
    const auto height = static_cast<double>(image.height), width = static_cast<double>(image.width);
    int64_t h = image.height, w = image.width;
    if (width / height < ratio.low) {
      h = std::clamp<int64_t>(static_cast<int64_t>(std::nearbyint(width / ratio.low)), 1, h);
    } else if (width / height > ratio.high) {
      w = std::clamp<int64_t>(static_cast<int64_t>(std::nearbyint(height * ratio.high)), 1, w);
    }
    return {(image.height - h) / 2, (image.width - w) / 2, h, w};
  }
};

const RegisterOp image_random_window_op("image.random_window", NewOp<RandomWindow>);

}  // namespace
}  // namespace penstock
