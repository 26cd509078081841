// cast: converts numbers to another type with NumPy's astype semantics; to and from bfloat16 with
// the semantics of ml_dtypes.
#include <algorithm>
#include <bit>
#include <cmath>

#include "compute/cast_items.h"
#include "compute/new_op.h"
#include "compute/operand.h"
#include "compute/real_types.h"

namespace penstock {
namespace {

constexpr Operand kX{"cast", "x"};
constexpr char kBFloat16[] = "bfloat16";  // the upper half of a float32

bool IsBFloat16(DType dtype) {
  return dtype.code == TypeCode::kAdded && dtype.itemsize == 2 && dtype.parameter() == kBFloat16;
}

DType TypeOf(const std::string& name) {
  return name == kBFloat16 ? DType::Added(kBFloat16, 2) : TypeNamed("cast", "dtype", name);
}

float ToFloat(uint16_t upper) { return std::bit_cast<float>(static_cast<uint32_t>(upper) << 16); }

// Rounds to nearest, ties to even.
uint16_t ToBFloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16 & 0x8000) | 0x7FC0);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

// Converts through float32, a few items per step.
void CastBFloat16(DType from, const uint8_t* in, DType to, uint8_t* out, size_t count) {
  constexpr size_t kFew = 256;
  float wide[kFew];
  for (size_t at = 0; at < count; at += kFew) {
    const size_t n = std::min(kFew, count - at);
    const uint8_t* items = in + at * from.itemsize;
    if (IsBFloat16(from)) {
      const auto* narrow = reinterpret_cast<const uint16_t*>(items);
      for (size_t i = 0; i < n; ++i) wide[i] = ToFloat(narrow[i]);
    } else {
      CastItems(from.code, items, TypeCode::kFloat32, wide, n);
    }
    uint8_t* results = out + at * to.itemsize;
    if (IsBFloat16(to)) {
      auto* narrow = reinterpret_cast<uint16_t*>(results);
      for (size_t i = 0; i < n; ++i) narrow[i] = ToBFloat16(wide[i]);
    } else {
      CastItems(TypeCode::kFloat32, wide, to.code, results, n);
    }
  }
}

class Cast final : public FillOp {
 public:
  explicit Cast(const Args& args) : dtype_(TypeOf(args.Text("dtype"))) {}

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("cast", inputs, 1);
    kX.CheckDense(inputs[0]);
    TypeCode from = inputs[0].dtype().code;
    if (from > TypeCode::kCLongDouble && !IsBFloat16(inputs[0].dtype())) {
      throw Error(ErrorKind::kType, "cast: x must be an array of numbers, got {}",
                  inputs[0].dtype().name());
    }
    return {dtype_, inputs[0].shape()};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    const Tensor& x = inputs[0];
    const auto count = static_cast<size_t>(x.elements());
    if (IsBFloat16(x.dtype()) || IsBFloat16(dtype_))
      CastBFloat16(x.dtype(), x.data(), dtype_, out.mutable_data(), count);
    else
      CastItems(x.dtype().code, x.data(), dtype_.code, out.mutable_data(), count);
  }

  bool by_rows(const std::vector<Tensor>&) const override { return true; }
  bool row_local() const override { return true; }
  bool keeps_means() const override { return true; }

 private:
  DType dtype_;
};

const RegisterOp cast_op("cast", NewOp<Cast>);

}  // namespace
}  // namespace penstock
