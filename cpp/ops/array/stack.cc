// stack: arrays of one shape along a new axis.
#include <cstring>

#include "ops/new_op.h"
#include "ops/operand.h"

namespace penstock {
namespace {

class Stack final : public FillOp {
 public:
  explicit Stack(const Args& args) : axis_(args.Int("axis")) {}

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    const Tensor& first = inputs.at(0);
    for (size_t i = 0; i < inputs.size(); ++i) {
      Operand{"stack", "values"}.CheckDense(inputs[i]);
      if (inputs[i].dtype() != first.dtype() || !(inputs[i].shape() == first.shape())) {
        throw Error(ErrorKind::kInvalidArgument,
                    "stack: values must be of one dtype and shape; number 0 is {} {}, number {} {} "
                    "{}",
                    first.dtype().name(), first.shape().ToString(), i, inputs[i].dtype().name(),
                    inputs[i].shape().ToString());
      }
    }
    Shape shape = first.shape().Prepend(0);
    int axis = AxisOf(first);
    for (int i = 0; i < axis; ++i) shape[i] = shape[i + 1];
    shape[axis] = static_cast<int64_t>(inputs.size());
    return {first.dtype(), shape};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    const Shape& shape = inputs[0].shape();
    int64_t pieces = 1, size = inputs[0].dtype().itemsize;
    int axis = AxisOf(inputs[0]);
    for (int i = 0; i < shape.rank(); ++i) (i < axis ? pieces : size) *= shape[i];
    uint8_t* to = out.mutable_data();
    for (int64_t piece = 0; piece < pieces; ++piece) {
      for (const Tensor& input : inputs) {
        std::memcpy(to, input.data() + piece * size, static_cast<size_t>(size));
        to += size;
      }
    }
  }

 private:
  int AxisOf(const Tensor& first) const {
    int rank = first.shape().rank() + 1;
    if (axis_ < -rank || axis_ >= rank) {
      throw Error(ErrorKind::kInvalidArgument, "stack: axis must lie in [{}, {}], got {}", -rank,
                  rank - 1, axis_);
    }
    return static_cast<int>(axis_ < 0 ? axis_ + rank : axis_);
  }

  const int64_t axis_;
};

const RegisterOp registration("stack", NewOp<Stack>);

}  // namespace
}  // namespace penstock
