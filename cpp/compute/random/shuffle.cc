// random.shuffle: the rows of an array in random order.
#include <numeric>
#include <utility>

#include "compute/array/items_op.h"
#include "compute/array/take_axes.h"
#include "compute/new_op.h"
#include "compute/operand.h"
#include "data/error.h"

namespace penstock {
namespace {

class Shuffle final : public ItemsOp {
 public:
  bool random() const override { return true; }

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("random.shuffle", inputs, 1);
    if (inputs[0].shape().rank() == 0) {
      throw Error(ErrorKind::kInvalidArgument,
                  "random.shuffle: value must have at least one axis, got a single {}",
                  inputs[0].dtype().name());
    }
    if (inputs[0].dtype().code == TypeCode::kObject) {
      throw Error(ErrorKind::kType,
                  "random.shuffle: value must be numbers or strings, got opaque objects");
    }
    return {inputs[0].dtype(), inputs[0].shape()};
  }

  // Each position in order takes one of the remaining rows (Fisher and Yates).
  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey key) const override {
    const Tensor& value = inputs[0];
    std::vector<AxisTable> tables(static_cast<size_t>(value.shape().rank()));
    AxisTable& rows = tables[0];
    rows.resize(static_cast<size_t>(value.shape()[0]));
    std::iota(rows.begin(), rows.end(), 0);
    for (size_t i = 0; i + 1 < rows.size(); ++i) {
      std::swap(rows[i], rows[i + key.DrawBelow(i, rows.size() - i)]);
    }
    TakeAxes(value, tables, nullptr, out);
  }
};

const RegisterOp random_shuffle_op("random.shuffle", NewOp<Shuffle>);

}  // namespace
}  // namespace penstock
