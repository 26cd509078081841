// random.uniform and random.normal: arrays of random numbers.
#include <cmath>
#include <limits>
#include <numbers>

#include "compute/array/axes.h"
#include "compute/cast_items.h"
#include "compute/new_op.h"
#include "compute/operand.h"
#include "compute/real_types.h"
#include "data/error.h"

namespace penstock {
namespace {

// One number as a double; otherwise an Error that names the argument.
template <typename T>
T OneNumber(const char* op, const char* argument, const Tensor& number, TypeCode as) {
  Operand{op, argument}.CheckDense(number);
  T value{};
  if (number.elements() != 1 || !IsReal(number.dtype().code)) {
    throw Error(ErrorKind::kInvalidArgument, "{}: {} must be one real number, got {} of shape {}",
                std::string_view(op), std::string_view(argument), number.dtype().name(),
                number.shape().ToString());
  }
  CastItems(number.dtype().code, number.data(), as, &value, 1);
  return value;
}

// Inputs: the sizes, and the two parameters of the distribution.
class Draws : public FillOp {
 public:
  Draws(const char* name, const Args& args, bool integers)
      : name_(name), dtype_(TypeNamed(name, "dtype", args.Text("dtype"))) {
    TypeCode code = dtype_.code;
    bool real =
        code == TypeCode::kFloat16 || code == TypeCode::kFloat32 || code == TypeCode::kFloat64;
    if (!real && !(integers && (code == TypeCode::kInt32 || code == TypeCode::kInt64))) {
      throw Error(ErrorKind::kType, "{}: dtype must be float16, float32, float64{}, got {}",
                  std::string_view(name), std::string_view(integers ? ", int32 or int64" : ""),
                  dtype_.name());
    }
  }

  bool random() const override { return true; }

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs(name_, inputs, 3);
    return {dtype_, ShapeFrom(name_, "shape", inputs[0], 0)};
  }

 protected:
  // Converts doubles or int64 to the type of the output.
  void Store(TypeCode from, const void* value, Tensor& out, int64_t i) const {
    CastItems(from, value, dtype_.code,
              out.mutable_data() + static_cast<size_t>(i) * dtype_.itemsize, 1);
  }

  const char* name_;
  const DType dtype_;
};

class Uniform final : public Draws {
 public:
  explicit Uniform(const Args& args) : Draws("random.uniform", args, true) {}

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey key) const override {
    if (IsInteger(dtype_.code)) {
      Integers(inputs, out, key);
      return;
    }
    auto low = OneNumber<double>(name_, "minval", inputs[1], TypeCode::kFloat64);
    auto high = OneNumber<double>(name_, "maxval", inputs[2], TypeCode::kFloat64);
    // Use as many bits as the type has, so that no rounding reaches 1.
    const int bits = dtype_.code == TypeCode::kFloat64   ? 53
                     : dtype_.code == TypeCode::kFloat32 ? 24
                                                         : 11;
    for (int64_t i = 0; i < out.elements(); ++i) {
      uint64_t drawn = key.Draw(static_cast<uint64_t>(i)) >> (64 - bits);
      double value = std::ldexp(static_cast<double>(drawn), -bits) * (high - low) + low;
      Store(TypeCode::kFloat64, &value, out, i);
    }
  }

 private:
  void Integers(const std::vector<Tensor>& inputs, Tensor& out, RandomKey key) const {
    auto low = OneNumber<int64_t>(name_, "minval", inputs[1], TypeCode::kInt64);
    auto high = OneNumber<int64_t>(name_, "maxval", inputs[2], TypeCode::kInt64);
    bool narrow = dtype_.code == TypeCode::kInt32;
    bool fits = !narrow || (low >= std::numeric_limits<int32_t>::min() &&
                            high - 1 <= int64_t{std::numeric_limits<int32_t>::max()});
    if (low >= high || !fits) {
      throw Error(ErrorKind::kInvalidArgument,
                  "random.uniform: minval must be less than maxval, and both values of {}, got {} "
                  "and {}",
                  dtype_.name(), low, high);
    }
    uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    for (int64_t i = 0; i < out.elements(); ++i) {
      uint64_t drawn = key.DrawBelow(static_cast<uint64_t>(i), range);
      auto value = static_cast<int64_t>(static_cast<uint64_t>(low) + drawn);
      Store(TypeCode::kInt64, &value, out, i);
    }
  }
};

class Normal final : public Draws {
 public:
  explicit Normal(const Args& args) : Draws("random.normal", args, false) {}

  // Two numbers per step, by the method of Box and Muller (1958).
  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey key) const override {
    auto mean = OneNumber<double>(name_, "mean", inputs[1], TypeCode::kFloat64);
    auto deviation = OneNumber<double>(name_, "stddev", inputs[2], TypeCode::kFloat64);
    for (int64_t i = 0; i < out.elements(); i += 2) {
      auto counter = static_cast<uint64_t>(i);
      double radius = std::sqrt(-2 * std::log1p(-key.DrawUnit(counter)));
      double angle = 2 * std::numbers::pi * key.DrawUnit(counter + 1);
      double first = mean + deviation * radius * std::cos(angle);
      double second = mean + deviation * radius * std::sin(angle);
      Store(TypeCode::kFloat64, &first, out, i);
      if (i + 1 < out.elements()) Store(TypeCode::kFloat64, &second, out, i + 1);
    }
  }
};

const RegisterOp random_uniform_op("random.uniform", NewOp<Uniform>);
const RegisterOp random_normal_op("random.normal", NewOp<Normal>);

}  // namespace
}  // namespace penstock
