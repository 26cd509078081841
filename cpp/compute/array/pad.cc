// pad: extends an array, filled with a constant or with its own items.
#include <algorithm>
#include <cmath>
#include <cstring>

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

bool IsTime(TypeCode code) {
  return code == TypeCode::kDatetime64 || code == TypeCode::kTimedelta64;
}

class Pad final : public ItemsOp {
 public:
  // Inputs: the array, the constant, and (rank, 2) numbers of items before and after along each
  // axis. With any_rank, everything that NumPy broadcasts to that, and repeated mirroring as in
  // NumPy.
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
      const int64_t most = MostAround(size);
      if (std::min(before, after) < 0 || std::max(before, after) > most) {
        throw Error(ErrorKind::kInvalidArgument,
                    "pad: paddings must lie in [0, {}] for axis {} of shape {}, got {} and {}",
                    most, i, shape.ToString(), before, after);
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
    CheckConstant(inputs[1].dtype(), type);
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
    if (tables.empty()) {  // nothing to fill with the constant
      std::memcpy(out.mutable_data(), x.data(), x.nbytes());
      return;
    }
    Tensor constant = ConstantOf(inputs, out.dtype());
    TakeAxes(x, tables, constant.data(), out);
  }

 private:
  size_t items(const std::vector<Tensor>&) const override { return 2; }

  // The maximum number of items before and after an axis of this size.
  int64_t MostAround(int64_t size) const {
    constexpr int64_t kMost = int64_t{1} << 56;
    if (mode_ == PadMode::kConstant) return kMost;
    if (mode_ == PadMode::kEdge || any_rank_) return size > 0 ? kMost : 0;
    return mode_ == PadMode::kReflect ? std::max(size - 1, int64_t{0}) : size;
  }

  // Times accept numbers, which count their unit, and times without a unit.
  void CheckConstant(DType constant, DType type) const {
    const bool number = constant.code <= TypeCode::kCLongDouble;
    const bool unitless = constant.code == type.code && constant.param == 0;
    if (constant == type || type.is_reference()) return;
    if (number && type.code <= TypeCode::kCLongDouble) return;
    if (IsTime(type.code) && (number || unitless)) return;
    throw Error(ErrorKind::kType, "pad: constant_values must be {} as the array, got {}",
                type.name(), constant.name());
  }

  Tensor ConstantOf(const std::vector<Tensor>& inputs, DType type) const {
    const Tensor& constant = inputs[1];
    const bool is_signed = type.code >= TypeCode::kInt8 && type.code <= TypeCode::kInt64;
    if (is_signed) return FromPlain("pad", Whole(constant, type), type);
    if (!IsTime(type.code)) return constant_.Converted(inputs, 1, type);
    const TypeCode code = constant.dtype().code;
    Tensor count = Tensor::Make(type, constant.shape());
    CastItems(IsTime(code) ? TypeCode::kInt64 : code, constant.data(), TypeCode::kInt64,
              count.mutable_data(), 1);
    return count;
  }

  // Converts the constant as int() does, which NumPy uses for arrays of signed integers; for other
  // types it casts.
  static Tensor Whole(const Tensor& constant, DType type) {
    const TypeCode code = constant.dtype().code;
    if (code == TypeCode::kUInt64) return constant;
    double value = 0;
    CastItems(code, constant.data(), TypeCode::kFloat64, &value, 1);
    if (!IsInteger(code) && !(value >= -0x1p63 && value < 0x1p63)) {
      throw Error(std::isnan(value) ? ErrorKind::kInvalidArgument : ErrorKind::kOverflow,
                  "pad: constant_values must be an integer of {}, got {}", type.name(), value);
    }
    Tensor whole = Tensor::Make(DType::Of(TypeCode::kInt64), constant.shape());
    CastItems(code, constant.data(), TypeCode::kInt64, whole.mutable_data(), 1);
    return whole;
  }

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
    if (mode_ == PadMode::kConstant) return kOtherwise;
    if (mode_ == PadMode::kEdge || size == 1) return i < 0 ? 0 : size - 1;
    const int64_t edge = mode_ == PadMode::kSymmetric;  // 1 if the mirror includes the edge
    const int64_t period = 2 * (size - 1 + edge);
    if (i < 0) i = -i - edge;
    i %= period;
    return i < size ? i : period - edge - i;
  }

  const PadMode mode_;
  const bool any_rank_;
  const Promotion constant_;
};

const RegisterOp pad_op("pad", NewOp<Pad>);

}  // namespace
}  // namespace penstock
