// cast: an array of numbers as another number type, with NumPy's astype semantics.
#include "compute/cast_items.h"
#include "compute/new_op.h"
#include "compute/operand.h"
#include "compute/real_types.h"

namespace penstock {
namespace {

constexpr Operand kX{"cast", "x"};

class Cast final : public FillOp {
 public:
  explicit Cast(const Args& args) : dtype_(TypeNamed("cast", "dtype", args.Text("dtype"))) {}

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("cast", inputs, 1);
    kX.CheckDense(inputs[0]);
    TypeCode from = inputs[0].dtype().code;
    if (from > TypeCode::kCLongDouble) {
      throw Error(ErrorKind::kType, "cast: x must be an array of numbers, got {}",
                  inputs[0].dtype().name());
    }
    return {dtype_, inputs[0].shape()};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    const Tensor& x = inputs[0];
    CastItems(x.dtype().code, x.data(), dtype_.code, out.mutable_data(),
              static_cast<size_t>(x.elements()));
  }

  bool by_rows(const std::vector<Tensor>&) const override { return true; }
  bool row_local() const override { return true; }

 private:
  DType dtype_;
};

const RegisterOp cast_op("cast", NewOp<Cast>);

}  // namespace
}  // namespace penstock
