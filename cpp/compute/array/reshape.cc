// reshape, expand_dims, squeeze: the same items with another shape, without a copy.
#include <algorithm>

#include "compute/array/axes.h"
#include "compute/new_op.h"
#include "compute/operand.h"
#include "data/error.h"

namespace penstock {
namespace {

class Reshape final : public Op {
 public:
  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey) const override {
    CheckInputs("reshape", inputs, 2);
    const Tensor& x = inputs[0];
    Shape shape = ShapeFrom("reshape", "shape", inputs[1], -1);
    int free = -1;  // the axis whose size is inferred
    int64_t others = 1;
    for (int i = 0; i < shape.rank(); ++i) {
      if (shape[i] >= 0) {
        others *= shape[i];
      } else if (free < 0) {
        free = i;
      } else {
        throw Error(ErrorKind::kInvalidArgument, "reshape: shape may hold one -1 only, got {}",
                    shape.ToString());
      }
    }
    if (free >= 0 && others > 0) shape[free] = x.elements() / others;
    if (free >= 0 && others == 0) shape[free] = 0;
    if (shape.elements() != x.elements() || (free >= 0 && others == 0 && x.elements() > 0)) {
      throw Error(ErrorKind::kInvalidArgument,
                  "reshape: shape must have as many items as the array, got {} for an array of "
                  "shape {}",
                  shape.ToString(), x.shape().ToString());
    }
    return {x.Reshaped(shape)};
  }
};

class ExpandDims final : public Op {
 public:
  explicit ExpandDims(const Args& args) : axes_(args.Ints("axis")) {}

  bool by_rows(const std::vector<Tensor>& inputs) const override {
    return axes_.size() == 1 && axes_[0] < 0 && -axes_[0] <= inputs[0].shape().rank();
  }

  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey) const override {
    CheckInputs("expand_dims", inputs, 1);
    const Shape& from = inputs[0].shape();
    std::vector<bool> added =
        NamedAxes("expand_dims", axes_, from.rank() + static_cast<int>(axes_.size()));
    std::vector<int64_t> dims;
    int next = 0;
    for (bool is_new : added) dims.push_back(is_new ? 1 : from[next++]);
    return {inputs[0].Reshaped(Shape(dims.data(), dims.size()))};
  }

 private:
  const std::vector<int64_t> axes_;
};

class Squeeze final : public Op {
 public:
  // of_scalars: for a number without axes, naming the only axis means no axis, as in NumPy.
  explicit Squeeze(const Args& args)
      : all_(!args.Has("axis")),
        axes_(all_ ? std::vector<int64_t>{} : args.Ints("axis")),
        of_scalars_(args.Bool("of_scalars") && IsOnlyAxis(axes_)) {}

  bool by_rows(const std::vector<Tensor>& inputs) const override {
    return !all_ && std::ranges::all_of(axes_, [&](int64_t axis) {
      return axis < 0 && -axis < inputs[0].shape().rank();
    });
  }

  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey) const override {
    CheckInputs("squeeze", inputs, 1);
    const Shape& from = inputs[0].shape();
    if (of_scalars_ && from.rank() == 0) return {inputs[0]};
    std::vector<bool> named = NamedAxes("squeeze", axes_, from.rank());
    std::vector<int64_t> dims;
    for (int i = 0; i < from.rank(); ++i) {
      bool goes = all_ ? from[i] == 1 : named[static_cast<size_t>(i)];
      if (goes && from[i] != 1) {
        throw Error(ErrorKind::kInvalidArgument,
                    "squeeze: axis must name axes of size 1, got {} of shape {}", i,
                    from.ToString());
      }
      if (!goes) dims.push_back(from[i]);
    }
    return {inputs[0].Reshaped(Shape(dims.data(), dims.size()))};
  }

 private:
  const bool all_;
  const std::vector<int64_t> axes_;
  const bool of_scalars_;
};

const RegisterOp reshape_op("reshape", NewOp<Reshape>);
const RegisterOp expand_dims_op("expand_dims", NewOp<ExpandDims>);
const RegisterOp squeeze_op("squeeze", NewOp<Squeeze>);

}  // namespace
}  // namespace penstock
