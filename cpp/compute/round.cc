// round: rounds numbers to a power of ten, in their own type, with the steps of numpy.round.
#include <cmath>
#include <type_traits>

#include "compute/half.h"
#include "compute/new_op.h"
#include "compute/operand.h"
#include "compute/real_types.h"

namespace penstock {
namespace {

constexpr Operand kRounded{"round", "a"};

class Round final : public FillOp {
 public:
  explicit Round(const Args& args) : decimals_(args.Int("decimals")) {}

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("round", inputs, 1);
    kRounded.CheckReal(inputs[0]);
    return {inputs[0].dtype(), inputs[0].shape()};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    const auto count = static_cast<size_t>(inputs[0].elements());
    VisitReal(out.dtype().code, [&](auto type) {
      using Item = typename decltype(type)::type;
      const auto* in = reinterpret_cast<const Item*>(inputs[0].data());
      auto* results = reinterpret_cast<Item*>(out.mutable_data());
      for (size_t i = 0; i < count; ++i) results[i] = Rounded(in[i]);
    });
  }

  bool by_rows(const std::vector<Tensor>&) const override { return true; }
  bool row_local() const override { return true; }

 private:
  template <typename Item>
  Item Rounded(Item value) const {
    if constexpr (std::is_same_v<Item, Half>) {
      // A half is rounded after each step.
      auto step = [](float result) { return FloatOf(HalfOf(result)); };
      return HalfOf(Steps(FloatOf(value), step));
    } else if constexpr (std::is_integral_v<Item>) {
      if (decimals_ >= 0) return value;
      return static_cast<Item>(Steps(static_cast<double>(value), [](double x) { return x; }));
    } else {
      return Steps(value, [](Item result) { return result; });
    }
  }

  template <typename Float, typename Step>
  Float Steps(Float value, const Step& step) const {
    if (decimals_ == 0) return std::nearbyint(value);
    const double power = std::pow(10.0, std::abs(static_cast<double>(decimals_)));
    const Float scale = step(static_cast<Float>(power));
    if (decimals_ > 0) return step(step(std::nearbyint(step(value * scale))) / scale);
    return step(step(std::nearbyint(step(value / scale))) * scale);
  }

  const int64_t decimals_;
};

const RegisterOp round_op("round", NewOp<Round>);

}  // namespace
}  // namespace penstock
