// image.rgb_to_grayscale, grayscale_to_rgb, rgb_to_hsv and hsv_to_rgb.
#include <cstring>

#include "compute/image/image_floats.h"
#include "compute/new_op.h"
#include "compute/operand.h"
#include "compute/real_types.h"

namespace penstock {
namespace {

// The shape of images with another number of channels.
Shape WithChannels(Shape shape, int64_t channels) {
  shape[shape.rank() - 1] = channels;
  return shape;
}

class RgbToGrayscale final : public FillOp {
 public:
  bool by_rows(const std::vector<Tensor>& inputs) const override {
    return inputs[0].shape().rank() > 1;
  }

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("rgb_to_grayscale", inputs, 1);
    kImages.CheckReal(inputs[0]);
    kImages.CheckChannels(inputs[0], 3);
    return {inputs[0].dtype(), WithChannels(inputs[0].shape(), 1)};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    const Tensor& image = inputs[0];
    TypeCode type = image.dtype().code;
    ImageConversion load = ImageConversion::Scaled(type, TypeCode::kFloat32, false);
    ImageConversion store = ImageConversion::Scaled(TypeCode::kFloat32, type, true);
    uint8_t* to = out.mutable_data();
    const PixelLoops& loops = PixelLoopsOf(ChosenInstructionSet());
    RgbPlanes planes;
    VisitFloats(load, image.data(), static_cast<size_t>(image.elements()),
                [&](const float* from, size_t count, size_t) {
                  size_t pixels = count / 3;
                  loops.split(from, pixels, planes);
                  loops.to_gray(planes, pixels);
                  store.Run(reinterpret_cast<const uint8_t*>(planes.r), to, pixels);
                  to += pixels * store.to_size();
                });
  }

 private:
  static constexpr Operand kImages{"rgb_to_grayscale", "images"};
};

class GrayscaleToRgb final : public FillOp {
 public:
  bool by_rows(const std::vector<Tensor>& inputs) const override {
    return inputs[0].shape().rank() > 1;
  }

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("grayscale_to_rgb", inputs, 1);
    kImages.CheckDense(inputs[0]);
    kImages.CheckChannels(inputs[0], 1);
    return {inputs[0].dtype(), WithChannels(inputs[0].shape(), 3)};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    const uint8_t* from = inputs[0].data();
    uint8_t* to = out.mutable_data();
    const auto count = static_cast<size_t>(inputs[0].elements());
    const size_t item = inputs[0].dtype().itemsize;
    if (item == 1) {
      for (size_t i = 0; i < count; ++i) to[3 * i] = to[3 * i + 1] = to[3 * i + 2] = from[i];
    } else if (item == sizeof(float)) {
      Repeat<sizeof(float)>(from, count, item, to);
    } else {
      Repeat<0>(from, count, item, to);
    }
  }

 private:
  static constexpr Operand kImages{"grayscale_to_rgb", "images"};

  // kItem: the size in bytes if known, so that a copy is a load and a store.
  template <size_t kItem>
  static void Repeat(const uint8_t* from, size_t count, size_t item, uint8_t* to) {
    if (kItem) item = kItem;
    for (; count > 0; --count, from += item) {
      for (int copy = 0; copy < 3; ++copy, to += item) std::memcpy(to, from, item);
    }
  }
};

// Converts between two spaces of three channels each, both of floats.
class FloatColors : public FillOp {
 public:
  bool by_rows(const std::vector<Tensor>& inputs) const final {
    return inputs[0].shape().rank() > 1;
  }

  LeafSpec Output(const std::vector<Tensor>& inputs) const final {
    const Operand operand = this->operand();
    CheckInputs(operand.op, inputs, 1);
    operand.CheckReal(inputs[0]);
    if (!IsFloating(inputs[0].dtype().code)) {
      throw Error(ErrorKind::kType,
                  "{}: {} must be floats, got {}; use convert_image_dtype(images, np.float32)",
                  std::string_view(operand.op), std::string_view(operand.argument),
                  inputs[0].dtype().name());
    }
    operand.CheckChannels(inputs[0], 3);
    return {inputs[0].dtype(), inputs[0].shape()};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const final {
    const PixelLoops& loops = PixelLoopsOf(ChosenInstructionSet());
    RgbPlanes planes;
    ChangeUnitFloats(inputs[0], out, [&](const float* from, float* to, size_t count, size_t) {
      loops.split(from, count / 3, planes);
      Convert(loops, planes, count / 3);
      loops.join(planes, count / 3, to);
    });
  }

 private:
  virtual Operand operand() const = 0;
  virtual void Convert(const PixelLoops& loops, RgbPlanes& planes, size_t pixels) const = 0;
};

class RgbToHsv final : public FloatColors {
  Operand operand() const override { return {"rgb_to_hsv", "images"}; }
  void Convert(const PixelLoops& loops, RgbPlanes& planes, size_t pixels) const override {
    loops.rgb_to_hsv(planes, pixels);
  }
};

class HsvToRgb final : public FloatColors {
  Operand operand() const override { return {"hsv_to_rgb", "images"}; }
  void Convert(const PixelLoops& loops, RgbPlanes& planes, size_t pixels) const override {
    loops.hsv_to_rgb(planes, pixels);
  }
};

const RegisterOp color_space_ops[] = {
    {"image.rgb_to_grayscale", NewOp<RgbToGrayscale>},
    {"image.grayscale_to_rgb", NewOp<GrayscaleToRgb>},
    {"image.rgb_to_hsv", NewOp<RgbToHsv>},
    {"image.hsv_to_rgb", NewOp<HsvToRgb>},
};

}  // namespace
}  // namespace penstock
