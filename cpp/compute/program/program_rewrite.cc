// A decoder and the crop behind it become one step.
#include "compute/program/program_rewrite.h"

#include <algorithm>

namespace penstock {
namespace {

// What stands for an image that is not made: its dtype and shape.
Tensor Unmade(const LeafSpec& spec) { return Tensor::View(spec.dtype, spec.shape, {}, 0); }

// The inputs of an operation on an image that is not made, from those of its decoder, of which
// there are `decoding`, and those of the operation but its first.
std::vector<Tensor> WithUnmade(const Op& image, size_t decoding,
                               const std::vector<Tensor>& inputs) {
  auto behind = inputs.begin() + static_cast<int64_t>(decoding);
  std::vector<Tensor> own{
      Unmade(image.fill()->Output(std::vector<Tensor>(inputs.begin(), behind)))};
  own.insert(own.end(), behind, inputs.end());
  return own;
}

// An operation on the shape of an image, without the image. The inputs are those of the decoder,
// then those of the operation but its first.
class OnShape final : public Op {
 public:
  OnShape(std::shared_ptr<const Op> image, std::shared_ptr<const Op> op, size_t decoding)
      : image_(std::move(image)), op_(std::move(op)), decoding_(decoding) {}

  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey key) const override {
    return op_->Call(WithUnmade(*image_, decoding_, inputs), key);
  }
  size_t outputs() const override { return op_->outputs(); }
  bool random() const override { return op_->random(); }

 private:
  const std::shared_ptr<const Op> image_, op_;
  const size_t decoding_;  // inputs of the decoder
};

// A window of an image. The inputs are those of the decoder, then those of the crop but its first.
class Window final : public FillOp {
 public:
  Window(std::shared_ptr<const Op> image, std::shared_ptr<const Op> crop, size_t decoding)
      : image_(std::move(image)), crop_(std::move(crop)), decoding_(decoding) {}

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    return crop_->crop()->Output(WithUnmade(*image_, decoding_, inputs));
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey key) const override {
    std::vector<Tensor> cropping = WithUnmade(*image_, decoding_, inputs);
    std::vector<Tensor> decoding(inputs.begin(), inputs.begin() + static_cast<int64_t>(decoding_));
    if (auto window = crop_->crop()->Window(cropping, key)) {
      image_->image()->RunWindow(decoding, *window, out);
    } else {
      cropping[0] = std::move(image_->Call(decoding, {})[0]);
      crop_->crop()->Run(cropping, out, key);
    }
  }

  bool random() const override { return crop_->random(); }

 private:
  const std::shared_ptr<const Op> image_, crop_;
  const size_t decoding_;  // inputs of the decoder
};

bool Uses(const ProgramStep& step, int value) {
  return std::find(step.inputs.begin(), step.inputs.end(), value) != step.inputs.end();
}

// Whether all that becomes of the image is that its shape is looked at, and one crop.
bool OnlyCropped(const std::vector<ProgramStep>& steps, const ProgramStep& image,
                 const std::vector<int>& results) {
  int value = image.output, crops = 0;
  if (std::find(results.begin(), results.end(), value) != results.end()) return false;
  for (const ProgramStep& step : steps) {
    if (!Uses(step, value)) continue;
    bool first =
        step.inputs[0] == value && std::count(step.inputs.begin(), step.inputs.end(), value) == 1;
    if (first && step.op->reads_shapes()) continue;
    if (!first || !step.op->crop() || ++crops > 1) return false;
  }
  return crops == 1;
}

}  // namespace

std::vector<ProgramStep> WithFusedCrops(std::vector<ProgramStep> steps,
                                        const std::vector<int>& results) {
  for (size_t i = 0; i < steps.size();) {
    if (!steps[i].op->image() || !OnlyCropped(steps, steps[i], results)) {
      ++i;
      continue;
    }
    const ProgramStep image = steps[i];
    for (ProgramStep& step : steps) {
      if (!Uses(step, image.output)) continue;
      std::vector<int> inputs = image.inputs;
      inputs.insert(inputs.end(), step.inputs.begin() + 1, step.inputs.end());
      if (step.op->crop()) {
        step.op = std::make_shared<Window>(image.op, step.op, image.inputs.size());
      } else {
        step.op = std::make_shared<OnShape>(image.op, step.op, image.inputs.size());
      }
      step.inputs = std::move(inputs);
    }
    steps.erase(steps.begin() + static_cast<int64_t>(i));
  }
  return steps;
}

}  // namespace penstock
