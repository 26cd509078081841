// pad: room around an array, filled with a constant or with what lies inside.
#include <algorithm>

#include "compute/array/axes.h"
#include "compute/array/items_op.h"
#include "compute/array/take_axes.h"
#include "compute/cast_items.h"
#include "compute/new_op.h"
#include "compute/operand.h"
#include "compute/promote.h"
#include "compute/real_types.h"
#include "data/error.h"

namespace penstock {
namespace {

enum class PadMode { kConstant, kReflect, kSymmetric, kEdge };

PadMode ModeNamed(const std::string& name) {
  if (name == "CONSTANT") return PadMode::kConstant;
  if (name == "REFLECT") return PadMode::kReflect;
  if (name == "SYMMETRIC") return PadMode::kSymmetric;
  if (name == "EDGE") return PadMode::kEdge;
  throw Error(ErrorKind::kInvalidArgument,
              "pad: mode must be CONSTANT, REFLECT, SYMMETRIC or EDGE, got {}", name);
}

class Pad final : public ItemsOp {
 public:
  // Inputs: the array, the constant, and (rank, 2) items before and after along each axis; with
  // any_rank, what NumPy broadcasts to that.
  explicit Pad(const Args& args)
      : mode_(ModeNamed(args.Text("mode"))),
        any_rank_(args.Bool("any_rank")),
        constant_{"pad", "constant_values", {}} {}

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("pad", inputs, 3);
    const Shape& shape = inputs[0].shape();
    std::vector<int64_t> around = AroundOf(inputs), dims;
    for (int i = 0; i < shape.rank(); ++i) {
      int64_t before = around[2 * i], after = around[2 * i + 1], size = shape[i];
      int64_t most = mode_ == PadMode::kReflect ? size - 1 : size;
      bool fits = before >= 0 && after >= 0 && std::max(before, after) <= int64_t{1} << 56;
      bool mirrors = mode_ == PadMode::kReflect || mode_ == PadMode::kSymmetric;
      if (fits && mirrors) fits = std::max(before, after) <= std::max(most, int64_t{0});
      if (fits && mode_ == PadMode::kEdge) fits = size > 0 || before + after == 0;
      if (!fits) {
        throw Error(ErrorKind::kInvalidArgument,
                    "pad: paddings must lie in [0, {}] for axis {} of shape {}, got {} and {}",
                    mirrors                   ? most
                    : mode_ == PadMode::kEdge ? 0
                                              : int64_t{1} << 56,
                    i, shape.ToString(), before, after);
      }
      dims.push_back(before + size + after);
    }
    if (inputs[1].elements() != 1) {
      throw Error(ErrorKind::kInvalidArgument,
                  "pad: constant_values must be one value, got an array of shape {}",
                  inputs[1].shape().ToString());
    }
    DType type = inputs[0].dtype();
    if (type.is_reference() || inputs[1].dtype().is_reference()) constant_.TypeOf(inputs, 2);
    return {type, ShapeOfSizes("pad", "paddings", dims)};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    const Tensor& x = inputs[0];
    std::vector<int64_t> around = AroundOf(inputs);
    std::vector<AxisTable> tables(static_cast<size_t>(x.shape().rank()));
    for (int axis = 0; axis < x.shape().rank(); ++axis) {
      int64_t size = x.shape()[axis], before = around[2 * axis];
      if (size == out.shape()[axis]) continue;
      AxisTable& table = tables[static_cast<size_t>(axis)];
      for (int64_t i = 0; i < out.shape()[axis]; ++i) table.push_back(PlaceOf(i - before, size));
    }
    Tensor constant = constant_.Converted(inputs, 1, out.dtype());
    TakeAxes(x, tables, constant.data(), out);
  }

 private:
  size_t items(const std::vector<Tensor>&) const override { return 2; }

  std::vector<int64_t> AroundOf(const std::vector<Tensor>& inputs) const {
    const Tensor& paddings = inputs[2];
    const int64_t rank = inputs[0].shape().rank();
    const int64_t given = paddings.elements();
    bool same = any_rank_ &&
                (given == 1 || paddings.shape() == Shape{2} || paddings.shape() == Shape{1, 2});
    if (!same && !(paddings.shape() == Shape{rank, 2}) && !(rank == 0 && given == 0)) {
      throw Error(ErrorKind::kInvalidArgument,
                  "pad: paddings must have shape ({}, 2) for an array of shape {}, got {}", rank,
                  inputs[0].shape().ToString(), paddings.shape().ToString());
    }
    if (rank == 0) return {};
    std::vector<int64_t> around =
        Operand{"pad", "paddings"}.Integers(paddings.Reshaped({given}), given);
    if (around.size() == 1) around.push_back(around[0]);
    while (same && static_cast<int64_t>(around.size()) < 2 * rank) {
      around.push_back(around[around.size() - 2]);
    }
    return around;
  }

  int64_t PlaceOf(int64_t i, int64_t size) const {
    if (i >= 0 && i < size) return i;
    switch (mode_) {
      case PadMode::kConstant:
        return kOtherwise;
      case PadMode::kReflect:
        return i < 0 ? -i : 2 * size - 2 - i;
      case PadMode::kSymmetric:
        return i < 0 ? -i - 1 : 2 * size - 1 - i;
      default:
        return i < 0 ? 0 : size - 1;
    }
  }

  const PadMode mode_;
  const bool any_rank_;
  const Promotion constant_;
};

const RegisterOp registration("pad", NewOp<Pad>);

}  // namespace
}  // namespace penstock
