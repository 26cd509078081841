// The operators ** and abs, where they differ from NumPy's functions: NumPy has shortcuts for some
// exponents of arrays, and separate arithmetic for scalars.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "compute/cast_items.h"
#include "compute/elementwise.h"
#include "compute/promote.h"
#include "compute/real_types.h"

namespace penstock {
namespace {

class Power final : public FillOp {
 public:
  Power(const PowerLoops& loops, PowerOperand base, PowerOperand exponent)
      : loops_(loops.power),
        squares_bools_(loops.squares_bools),
        weak_{base.weak, exponent.weak},
        stays_array_{base.stays_array, exponent.stays_array},
        power_(MakeElementwise(loops.power, {base.weak, exponent.weak})),
        square_(MakeElementwise(loops.square, {base.weak})),
        reciprocal_(MakeElementwise(loops.reciprocal, {base.weak})),
        sqrt_(MakeElementwise(loops.sqrt, {base.weak})) {}

  bool by_rows(const std::vector<Tensor>& inputs) const override {
    // Rows of scalars cannot be distinguished from an array, nor a plain exponent for each row from
    // an array of them.
    const bool array =
        std::ranges::any_of(inputs, [](const Tensor& input) { return input.shape().rank() > 1; });
    if (!array || (weak_[1] != LoopTable::kStrong && inputs[1].shape().rank() > 0)) return false;
    const Op* shorter = Shorter(inputs);
    return shorter ? shorter->by_rows({inputs[0]}) : power_->by_rows(inputs);
  }
  bool row_local() const override { return true; }

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    const Op* shorter = Shorter(inputs);
    return shorter ? shorter->fill()->Output({inputs[0]}) : power_->fill()->Output(inputs);
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey key) const override {
    const bool pythons = weak_[0] == LoopTable::kComplex && IsScalar(inputs, 1);
    if (pythons && inputs[1].dtype().code == TypeCode::kFloat64) {
      throw Error(
          ErrorKind::kInvalidArgument,
          "**: a complex number of Python to the power of a float64 is what Python makes of "
          "it; write np.complex128(...) for the number");
    }
    if (const Op* shorter = Shorter(inputs)) {
      shorter->fill()->Run({inputs[0]}, out, key);
    } else if (AreScalars(inputs, out.dtype())) {
      RunScalars(inputs, out);
    } else {
      power_->fill()->Run(inputs, out, key);
    }
  }

 private:
  bool IsScalar(const std::vector<Tensor>& inputs, size_t number) const {
    return inputs[number].shape().rank() == 0 && !stays_array_[number];
  }

  // The operation to call instead of numpy.power for an array and a plain exponent; null if there
  // is none.
  const Op* Shorter(const std::vector<Tensor>& inputs) const {
    const Tensor &base = inputs[0], &exponent = inputs[1];
    if (weak_[0] != LoopTable::kStrong || IsScalar(inputs, 0)) return nullptr;
    const TypeCode code = base.dtype().code;
    const bool floats = code >= TypeCode::kFloat16 && code <= TypeCode::kCLongDouble;
    if (weak_[1] == LoopTable::kInt && exponent.dtype().code == TypeCode::kInt64) {
      const auto number = exponent.value<int64_t>();
      if (number == 2 && (code != TypeCode::kBool || squares_bools_)) return square_.get();
      if (number == -1 && floats) return reciprocal_.get();
    }
    const bool root = weak_[1] == LoopTable::kFloat && exponent.value<double>() == 0.5;
    return root && floats ? sqrt_.get() : nullptr;
  }

  // Whether NumPy uses the C library for two scalars instead of its loops: that is, unless both are
  // promoted to another type.
  bool AreScalars(const std::vector<Tensor>& inputs, DType made) const {
    if (!IsFloating(made.code)) return false;
    bool of_one = false;
    for (size_t i = 0; i < 2; ++i) {
      if (!IsScalar(inputs, i)) return false;
      of_one = of_one || (weak_[i] == LoopTable::kStrong && inputs[i].dtype() == made);
    }
    return of_one;
  }

  void RunScalars(const std::vector<Tensor>& inputs, Tensor& out) const {
    VisitReal(out.dtype().code, [&]<typename T>(std::type_identity<T>) {
      T operands[2], result;
      for (size_t i = 0; i < 2; ++i) {
        Tensor number = inputs[i];
        if (weak_[i] == LoopTable::kInt) number = FromPlain(loops_->name(), number, out.dtype());
        CastItems(number.dtype().code, number.data(), out.dtype().code, &operands[i], 1);
      }
      if constexpr (std::is_same_v<T, Half>) {
        result = HalfOf(std::pow(FloatOf(operands[0]), FloatOf(operands[1])));
      } else if constexpr (std::is_floating_point_v<T>) {
        result = std::pow(operands[0], operands[1]);
      } else {
        return;
      }
      std::memcpy(out.mutable_data(), &result, sizeof(result));
    });
  }

  const LoopsPtr loops_;
  const bool squares_bools_;
  const LoopTable::Weak weak_[2];
  const bool stays_array_[2];
  const std::unique_ptr<const Op> power_, square_, reciprocal_, sqrt_;
};

class Absolute final : public FillOp {
 public:
  explicit Absolute(LoopsPtr absolute)
      : absolute_(MakeElementwise(std::move(absolute), {LoopTable::kStrong})) {}
  bool by_rows(const std::vector<Tensor>& inputs) const override {
    return absolute_->by_rows(inputs);  // false for complex numbers
  }
  bool row_local() const override { return true; }
  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    return absolute_->fill()->Output(inputs);
  }
  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey key) const override {
    const Tensor& number = inputs[0];
    if (number.shape().rank() > 0 || number.dtype().code < TypeCode::kComplex64) {
      absolute_->fill()->Run(inputs, out, key);
      return;
    }
    VisitReal(out.dtype().code, [&]<typename T>(std::type_identity<T>) {
      if constexpr (std::is_floating_point_v<T>) {
        T parts[2];
        std::memcpy(parts, number.data(), sizeof(parts));
        // As NumPy's hypot(). The symbol of hypot() has a new version since glibc 2.35, which
        // wheels would then require. cabs() has an old version, and calls the same function.
        const T length = std::abs(std::complex<T>(parts[0], parts[1]));
        std::memcpy(out.mutable_data(), &length, sizeof(length));
      }
    });
  }

 private:
  const std::unique_ptr<const Op> absolute_;
};

}  // namespace

std::unique_ptr<const Op> MakeAbsolute(LoopsPtr absolute) {
  return std::make_unique<Absolute>(std::move(absolute));
}

std::unique_ptr<const Op> MakePower(const PowerLoops& loops, PowerOperand base,
                                    PowerOperand exponent) {
  return std::make_unique<Power>(loops, base, exponent);
}

}  // namespace penstock
