// image.adjust_gamma: gain * image ** gamma.
#include <cmath>
#include <numeric>

#include "compute/image/image_floats.h"
#include "compute/new_op.h"
#include "compute/operand.h"

namespace penstock {
namespace {

constexpr Operand kGammaImage{"adjust_gamma", "image"};
constexpr Operand kGamma{"adjust_gamma", "gamma"};
constexpr Operand kGain{"adjust_gamma", "gain"};

void Raise(const Tensor& image, float gamma, float gain, Tensor& out) {
  ChangeUnitFloats(image, out, [=](const float* from, float* to, size_t count, size_t) {
    for (size_t i = 0; i < count; ++i) to[i] = gain * std::pow(from[i], gamma);
  });
}

class AdjustGamma final : public FillOp {
 public:
  bool by_rows(const std::vector<Tensor>& inputs) const override {
    return inputs.size() == 3 && inputs[1].shape().rank() == 0 && inputs[2].shape().rank() == 0;
  }

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("adjust_gamma", inputs, 3);
    kGammaImage.CheckReal(inputs[0]);
    double gamma = kGamma.Number(inputs[1]);
    kGain.Number(inputs[2]);
    if (!(gamma >= 0)) {
      throw Error(ErrorKind::kInvalidArgument, "adjust_gamma: gamma must be >= 0, got {}", gamma);
    }
    return {inputs[0].dtype(), inputs[0].shape()};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    const Tensor& image = inputs[0];
    auto gamma = static_cast<float>(kGamma.Number(inputs[1]));
    auto gain = static_cast<float>(kGain.Number(inputs[2]));
    constexpr int64_t kValues = 256;
    if (image.dtype().itemsize > 1 || image.elements() <= kValues) {
      return Raise(image, gamma, gain, out);
    }
    // Bytes have few values: compute each power once, then look up each item.
    Tensor values = Tensor::Make(image.dtype(), {kValues});
    std::iota(values.mutable_data(), values.mutable_data() + kValues, uint8_t{0});
    Tensor table = Tensor::Make(image.dtype(), {kValues});
    Raise(values, gamma, gain, table);
    const uint8_t* raised = table.data();
    const uint8_t* from = image.data();
    uint8_t* to = out.mutable_data();
    for (int64_t i = 0; i < image.elements(); ++i) to[i] = raised[from[i]];
  }
};

const RegisterOp image_adjust_gamma_op("image.adjust_gamma", NewOp<AdjustGamma>);

}  // namespace
}  // namespace penstock
