// shape: the sizes of an array's axes.
#include <algorithm>

#include "ops/new_op.h"
#include "ops/operand.h"

namespace penstock {
namespace {

class ShapeOf final : public FillOp {
 public:
  bool reads_shapes() const override { return true; }

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("shape", inputs, 1);
    return {DType::Of(TypeCode::kInt64), {inputs[0].shape().rank()}};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    std::ranges::copy(inputs[0].shape().dims(), reinterpret_cast<int64_t*>(out.mutable_data()));
  }
};

const RegisterOp registration("shape", NewOp<ShapeOf>);

}  // namespace
}  // namespace penstock
