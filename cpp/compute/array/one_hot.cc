// one_hot: for each index, a vector with one value set.
#include <cstring>

#include "compute/array/axes.h"
#include "compute/cast_items.h"
#include "compute/new_op.h"
#include "compute/operand.h"
#include "compute/promote.h"
#include "compute/real_types.h"
#include "data/error.h"

namespace penstock {
namespace {

class OneHot final : public FillOp {
 public:
  // Inputs: on_value, off_value, indices, depth.
  explicit OneHot(const Args& args)
      : values_{"one_hot", "on_value and off_value", args.Ints("weak")},
        typed_(args.Has("dtype")),
        dtype_(typed_ ? TypeNamed("one_hot", "dtype", args.Text("dtype")) : DType{}),
        axis_(args.Int("axis")) {}

  bool by_rows(const std::vector<Tensor>& inputs) const override {
    return axis_ == -1 && inputs[0].shape().rank() == 0 && inputs[1].shape().rank() == 0 &&
           inputs[3].shape().rank() == 0;
  }

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("one_hot", inputs, 4);
    if (!IsInteger(inputs[2].dtype().code)) {
      throw Error(ErrorKind::kType, "one_hot: indices must hold integers, got {}",
                  inputs[2].dtype().name());
    }
    DType type = values_.TypeOf(inputs, 2);
    if (type.is_reference() || inputs[0].elements() != 1 || inputs[1].elements() != 1) {
      throw Error(ErrorKind::kType, "one_hot: on_value and off_value must be one number each");
    }
    const Shape& indices = inputs[2].shape();
    int axis = AxisFor(indices);
    std::vector<int64_t> dims(indices.dims().begin(), indices.dims().end());
    dims.insert(dims.begin() + axis, DepthOf(inputs[3]));
    return {typed_ ? dtype_ : type, ShapeOfSizes("one_hot", "depth", dims)};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    if (out.elements() == 0) return;
    Tensor on = values_.Converted(inputs, 0, out.dtype());
    Tensor off = values_.Converted(inputs, 1, out.dtype());
    const Tensor& indices = inputs[2];
    const int axis = AxisFor(indices.shape());
    const int64_t depth = out.shape()[axis];
    std::vector<int64_t> places(static_cast<size_t>(indices.elements()));
    CastItems(indices.dtype().code, indices.data(), TypeCode::kInt64, places.data(), places.size());
    const size_t item = out.dtype().itemsize;
    uint8_t* to = out.mutable_data();
    for (int64_t i = 0; i < out.elements(); ++i) std::memcpy(to + i * item, off.data(), item);
    int64_t inner = 1;
    for (int i = axis; i < indices.shape().rank(); ++i) inner *= indices.shape()[i];
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i] < 0 || places[i] >= depth) continue;
      int64_t outer = static_cast<int64_t>(i) / inner, behind = static_cast<int64_t>(i) % inner;
      std::memcpy(to + ((outer * depth + places[i]) * inner + behind) * item, on.data(), item);
    }
  }

 private:
  int AxisFor(const Shape& indices) const {
    return NormalAxis("one_hot", "axis", axis_, indices.rank() + 1);
  }

  static int64_t DepthOf(const Tensor& depth) {
    int64_t value = depth.elements() == 1
                        ? Operand{"one_hot", "depth"}.Integers(depth.Reshaped({1}), 1)[0]
                        : -1;
    if (value < 0) {
      throw Error(ErrorKind::kInvalidArgument, "one_hot: depth must be one integer >= 0, got {}",
                  depth.elements() == 1 ? std::to_string(value) : depth.shape().ToString());
    }
    return value;
  }

  const Promotion values_;
  const bool typed_;
  const DType dtype_;
  const int64_t axis_;
};

const RegisterOp one_hot_op("one_hot", NewOp<OneHot>);

}  // namespace
}  // namespace penstock
