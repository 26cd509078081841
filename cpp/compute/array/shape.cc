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

  std::optional<RowItems> CallRagged(const std::vector<RowItems>& inputs,
                                     int64_t rows) const override {
    const RowItems& input = inputs[0];
    const Shape& items = input.items.shape();
    Shape row = input.splits ? items : items.WithoutFirst();
    Tensor sizes = Tensor::Make(DType::Of(TypeCode::kInt64), {rows, row.rank()});
    auto* to = reinterpret_cast<int64_t*>(sizes.mutable_data());
    for (size_t i = 0; i < static_cast<size_t>(rows); ++i) {
      if (input.splits) row[0] = (*input.splits)[i + 1] - (*input.splits)[i];
      to = std::ranges::copy(row.dims(), to).out;
    }
    return RowItems{std::move(sizes), nullptr, true};
  }
};

const RegisterOp shape_op("shape", NewOp<ShapeOf>);

}  // namespace
}  // namespace penstock
