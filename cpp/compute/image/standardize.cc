// image.per_image_standardization and image.normalize: float32 with another mean and deviation.
#include <array>
#include <cmath>

#include "compute/image/image_floats.h"
#include "compute/new_op.h"
#include "compute/operand.h"
#include "compute/real_types.h"

namespace penstock {
namespace {

const ImageConversion& AsItIs() {
  static const ImageConversion same = ImageConversion::Cast(TypeCode::kFloat32, TypeCode::kFloat32);
  return same;
}

// Sums of every kLanes-th item minus a value near their mean, and of the squares of these
// differences.
struct Moments {
  static constexpr size_t kLanes = 8;
  double near = 0;
  std::array<double, kLanes> sums{}, squares{};

  void Add(const float* from, size_t count) {
    Moments local = *this;
    size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      for (size_t lane = 0; lane < kLanes; ++lane) {
        double x = double{from[i + lane]} - local.near;
        local.sums[lane] += x;
        local.squares[lane] += x * x;
      }
    }
    for (size_t lane = 0; i < count; ++i, ++lane) {
      double x = double{from[i]} - local.near;
      local.sums[lane] += x;
      local.squares[lane] += x * x;
    }
    *this = local;
  }
};

class PerImageStandardization final : public FillOp {
 public:
  bool by_rows(const std::vector<Tensor>& inputs) const override {
    return inputs[0].shape().rank() > 3;
  }

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("per_image_standardization", inputs, 1);
    kImage.CheckReal(inputs[0]);
    const Shape& shape = inputs[0].shape();
    if (shape.rank() < 3) {
      throw Error(ErrorKind::kInvalidArgument,
                  "per_image_standardization: image must have shape (..., height, width, "
                  "channels), got {}",
                  shape.ToString());
    }
    return {DType::Of(TypeCode::kFloat32), shape};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    const Tensor& image = inputs[0];
    if (image.elements() == 0) return;
    const Shape& shape = image.shape();
    size_t size = 1;  // items of an image
    for (int axis = shape.rank() - 3; axis < shape.rank(); ++axis) {
      size *= static_cast<size_t>(shape[axis]);
    }
    ImageConversion load = ImageConversion::Cast(image.dtype().code, TypeCode::kFloat32);
    const auto count = static_cast<size_t>(image.elements());
    for (size_t done = 0; done < count; done += size) {
      Standardize(load, image.data() + done * load.from_size(), size,
                  out.mutable_data() + done * sizeof(float));
    }
  }

 private:
  static constexpr Operand kImage{"per_image_standardization", "image"};

  static void Standardize(const ImageConversion& load, const uint8_t* in, size_t size,
                          uint8_t* out) {
    Moments moments;
    VisitFloats(load, in, size, [&](const float* from, size_t n, size_t first) {
      if (first == 0) moments.near = double{from[0]};
      moments.Add(from, n);
    });
    double sum = 0, squares = 0;
    for (size_t lane = 0; lane < Moments::kLanes; ++lane) {
      sum += moments.sums[lane];
      squares += moments.squares[lane];
    }
    const auto items = static_cast<double>(size);
    double offset = sum / items;
    double variance = squares / items - offset * offset;
    // The minimum avoids division by zero for an image of one colour, and amplified noise.
    double least = 1 / std::sqrt(items);
    double deviation = std::sqrt(variance > 0 ? variance : variance * 0);
    const auto mean = static_cast<float>(moments.near + offset);
    const auto divisor = static_cast<float>(deviation < least ? least : deviation);
    const PixelLoops& loops = PixelLoopsOf(ChosenInstructionSet());
    ChangeFloats(load, in, AsItIs(), out, size,
                 [&](const float* from, float* to, size_t n, size_t) {
                   loops.standardize(from, mean, divisor, n, to);
                 });
  }
};

class Normalize final : public FillOp {
 public:
  bool by_rows(const std::vector<Tensor>& inputs) const override {
    return inputs.size() == 3 && inputs[0].shape().rank() > 1 && inputs[1].shape().rank() < 2 &&
           inputs[2].shape().rank() < 2;
  }

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("normalize", inputs, 3);
    kImage.CheckReal(inputs[0]);
    const Shape& shape = inputs[0].shape();
    if (shape.rank() < 1) {
      throw Error(ErrorKind::kInvalidArgument,
                  "normalize: image must have shape (..., channels), got {}", shape.ToString());
    }
    ChannelValues(kMean, inputs[1], shape[shape.rank() - 1]);
    for (float value : ChannelValues(kStd, inputs[2], shape[shape.rank() - 1])) {
      if (value == 0) throw Error(ErrorKind::kInvalidArgument, "normalize: std must not be 0");
    }
    return {DType::Of(TypeCode::kFloat32), shape};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    const Tensor& image = inputs[0];
    if (image.elements() == 0) return;
    int64_t channels = image.shape()[image.shape().rank() - 1];
    const ChannelRow means(ChannelValues(kMean, inputs[1], channels));
    const ChannelRow deviations(ChannelValues(kStd, inputs[2], channels));
    const PixelLoops& loops = PixelLoopsOf(ChosenInstructionSet());
    ChangeFloats(ImageConversion::Cast(image.dtype().code, TypeCode::kFloat32), image.data(),
                 AsItIs(), out.mutable_data(), static_cast<size_t>(image.elements()),
                 [&](const float* from, float* to, size_t n, size_t first) {
                   loops.normalize(from, means.From(first), deviations.From(first), n, to);
                 });
  }

 private:
  static constexpr Operand kImage{"normalize", "image"};
  static constexpr Operand kMean{"normalize", "mean"};
  static constexpr Operand kStd{"normalize", "std"};

  // One number for all channels, or one for each.
  static std::vector<float> ChannelValues(const Operand& operand, const Tensor& tensor,
                                          int64_t channels) {
    operand.CheckReal(tensor);
    const Shape& shape = tensor.shape();
    if (shape.rank() > 1 || (shape.rank() == 1 && shape[0] != channels)) {
      throw Error(ErrorKind::kInvalidArgument,
                  "normalize: {} must be a number or have shape ({},), one for each channel, got "
                  "shape {}",
                  std::string_view(operand.argument), channels, shape.ToString());
    }
    std::vector<float> values(static_cast<size_t>(channels));
    auto given = static_cast<size_t>(shape.elements());
    CastItems(tensor.dtype().code, tensor.data(), TypeCode::kFloat32, values.data(),
              std::min(given, values.size()));
    if (shape.rank() == 0 && channels > 0) std::fill(values.begin(), values.end(), values[0]);
    return values;
  }
};

const RegisterOp image_per_image_standardization_op("image.per_image_standardization",
                                                    NewOp<PerImageStandardization>);
const RegisterOp image_normalize_op("image.normalize", NewOp<Normalize>);

}  // namespace
}  // namespace penstock
