// shape: the sizes of an array's axes.
#include <algorithm>

#include "compute/new_op.h"
#include "compute/operand.h"

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

  std::optional<Column> CallRagged(const std::vector<Column>& inputs, int64_t rows) const override {
    Tensor sizes = Tensor::Make(DType::Of(TypeCode::kInt64), {rows, inputs[0].rank()});
    auto* to = reinterpret_cast<int64_t*>(sizes.mutable_data());
    for (int64_t row = 0; row < rows; ++row) {
      to = std::ranges::copy(inputs[0].shape(row).dims(), to).out;
    }
    return Column(std::move(sizes));
  }
};

const RegisterOp shape_op("shape", NewOp<ShapeOf>);

}  // namespace
}  // namespace penstock
