// image.adjust_brightness, adjust_contrast, adjust_saturation and adjust_hue, and their random
// variants.
#include <cmath>
#include <limits>

#include "compute/image/adjustments.h"
#include "compute/new_op.h"
#include "compute/operand.h"
#include "compute/real_types.h"

namespace penstock {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A property to adjust, and the permitted amounts.
struct Kind {
  const char* name;
  const char* image;  // the names of the arguments
  const char* amount;
  Adjustment adjust;
  int least_rank;
  bool rgb;
  double least, most;  // permitted amounts
};
constexpr Kind kBrightness{"brightness", "image",    "delta",  AddBrightness, 0,
                           false,        -kInfinity, kInfinity};
constexpr Kind kContrast{"contrast", "images", "contrast_factor", ScaleContrast,
                         3,          false,    -kInfinity,        kInfinity};
constexpr Kind kSaturation{"saturation", "image",  "saturation_factor", ScaleSaturation, 3, true,
                           -kInfinity,   kInfinity};
constexpr Kind kHue{"hue", "image", "delta", RotateHue, 3, true, -1, 1};

LeafSpec CheckImage(const Kind& kind, const std::string& op, const Tensor& image) {
  Operand operand{op.c_str(), kind.image};
  operand.CheckReal(image);
  const Shape& shape = image.shape();
  if (shape.rank() < kind.least_rank || (kind.rgb && shape[shape.rank() - 1] != 3)) {
    throw Error(ErrorKind::kInvalidArgument,
                "{}: {} must have shape (..., height, width, {}), got {}", op,
                std::string_view(kind.image), std::string_view(kind.rgb ? "3" : "channels"),
                shape.ToString());
  }
  return {image.dtype(), shape};
}

// Adjusts by an amount that is an input.
class Adjust final : public FillOp {
 public:
  explicit Adjust(const Kind& kind) : kind_(kind), name_(std::string("adjust_") + kind.name) {}

  bool by_rows(const std::vector<Tensor>& inputs) const override {
    return inputs.size() == 2 && inputs[0].shape().rank() > kind_.least_rank &&
           inputs[1].shape().rank() == 0;
  }

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs(name_.c_str(), inputs, 2);
    double amount = Operand{name_.c_str(), kind_.amount}.Number(inputs[1]);
    if (!(amount >= kind_.least && amount <= kind_.most) && std::isfinite(kind_.most)) {
      throw Error(ErrorKind::kInvalidArgument, "{}: {} must lie in [{}, {}], got {}", name_,
                  std::string_view(kind_.amount), kind_.least, kind_.most, amount);
    }
    return CheckImage(kind_, name_, inputs[0]);
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    if (out.elements() == 0) return;
    double amount = Operand{name_.c_str(), kind_.amount}.Number(inputs[1]);
    kind_.adjust(inputs[0], static_cast<float>(amount), out);
  }

 private:
  const Kind& kind_;
  const std::string name_;
};

// Adjusts by an amount drawn once per call, uniformly from [lower, upper).
class RandomAdjust final : public FillOp {
 public:
  RandomAdjust(const Kind& kind, const Args& args)
      : kind_(kind),
        name_(std::string("random_") + kind.name),
        lower_(args.Float("lower")),
        upper_(args.Float("upper")) {}

  bool random() const override { return true; }

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs(name_.c_str(), inputs, 1);
    return CheckImage(kind_, name_, inputs[0]);
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey key) const override {
    if (out.elements() == 0) return;
    double amount = lower_ + (upper_ - lower_) * key.DrawUnit(0);
    kind_.adjust(inputs[0], static_cast<float>(amount), out);
  }

 private:
  const Kind& kind_;
  const std::string name_;
  const double lower_, upper_;
};

template <const Kind& kKind>
std::unique_ptr<const Op> NewAdjust(const Args&) {
  return std::make_unique<Adjust>(kKind);
}

template <const Kind& kKind>
std::unique_ptr<const Op> NewRandomAdjust(const Args& args) {
  return std::make_unique<RandomAdjust>(kKind, args);
}

const RegisterOp adjust_ops[] = {
    {"image.adjust_brightness", NewAdjust<kBrightness>},
    {"image.adjust_contrast", NewAdjust<kContrast>},
    {"image.adjust_saturation", NewAdjust<kSaturation>},
    {"image.adjust_hue", NewAdjust<kHue>},
    {"image.random_brightness", NewRandomAdjust<kBrightness>},
    {"image.random_contrast", NewRandomAdjust<kContrast>},
    {"image.random_saturation", NewRandomAdjust<kSaturation>},
    {"image.random_hue", NewRandomAdjust<kHue>},
};

}  // namespace
}  // namespace penstock
