// fill and fill_like: arrays filled with one value.
#include "compute/array/axes.h"
#include "compute/array/take_axes.h"
#include "compute/cast_items.h"
#include "compute/new_op.h"
#include "compute/operand.h"
#include "compute/real_types.h"
#include "data/error.h"

namespace penstock {
namespace {

class Fill final : public FillOp {
 public:
  // Inputs: the sizes, and the value.
  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("fill", inputs, 2);
    Operand{"fill", "value"}.CheckDense(inputs[1]);
    if (inputs[1].elements() != 1) {
      throw Error(ErrorKind::kInvalidArgument, "fill: value must be one value, got shape {}",
                  inputs[1].shape().ToString());
    }
    return {inputs[1].dtype(), ShapeFrom("fill", "dims", inputs[0], 0)};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    FillItems(inputs[1].data(), out.dtype().itemsize, out.mutable_data(), out.nbytes());
  }
};

class FillLike final : public FillOp {
 public:
  // value: a whole number; dtype: defaults to the input's.
  explicit FillLike(const Args& args)
      : value_(args.Int("value")),
        typed_(args.Has("dtype")),
        dtype_(typed_ ? TypeNamed("fill_like", "dtype", args.Text("dtype")) : DType{}) {}

  bool reads_shapes() const override { return typed_; }
  bool by_rows(const std::vector<Tensor>&) const override { return true; }

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("fill_like", inputs, 1);
    DType type = typed_ ? dtype_ : inputs[0].dtype();
    if (type.code > TypeCode::kCLongDouble) {
      throw Error(ErrorKind::kType, "fill_like: input must be an array of numbers, got {}",
                  type.name());
    }
    return {type, inputs[0].shape()};
  }

  void Run(const std::vector<Tensor>&, Tensor& out, RandomKey) const override {
    alignas(16) uint8_t item[32] = {};
    CastItems(TypeCode::kInt64, &value_, out.dtype().code, item, 1);
    FillItems(item, out.dtype().itemsize, out.mutable_data(), out.nbytes());
  }

 private:
  const int64_t value_;
  const bool typed_;
  const DType dtype_;
};

const RegisterOp fill_op("fill", NewOp<Fill>);
const RegisterOp fill_like_op("fill_like", NewOp<FillLike>);

}  // namespace
}  // namespace penstock
