// concat and stack: join arrays along an axis, or along a new one.
#include <cstring>

#include "compute/array/axes.h"
#include "compute/array/items_op.h"
#include "compute/array/join_runs.h"
#include "compute/new_op.h"
#include "compute/promote.h"
#include "data/error.h"

namespace penstock {
namespace {

class Joined : public ItemsOp {
 public:
  Joined(const char* name, const Args& args)
      : values_{name, "values", args.Has("weak") ? args.Ints("weak") : std::vector<int64_t>{},
                args.Has("wrap") && args.Bool("wrap")},
        axis_(args.Int("axis")) {}

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    std::vector<Tensor> parts;
    std::vector<size_t> sizes;  // bytes that each input contributes per step
    for (size_t i = 0; i < inputs.size(); ++i) {
      parts.push_back(values_.Converted(inputs, i, out.dtype()));
      int axis = AxisOf(parts[i].shape());
      size_t size = out.dtype().itemsize;
      for (int a = axis; a < parts[i].shape().rank(); ++a) size *= parts[i].shape()[a];
      sizes.push_back(size);
    }
    if (out.elements() == 0) return;
    int64_t pieces = 1;
    for (int a = 0; a < AxisOf(parts[0].shape()); ++a) pieces *= out.shape()[a];
    uint8_t* to = out.mutable_data();
    for (int64_t piece = 0; piece < pieces; ++piece) {
      for (size_t i = 0; i < parts.size(); ++i) {
        if (sizes[i]) std::memcpy(to, parts[i].data() + piece * sizes[i], sizes[i]);
        to += sizes[i];
      }
    }
  }

 protected:
  size_t items(const std::vector<Tensor>& inputs) const override { return inputs.size(); }
  virtual int AxisOf(const Shape& shape) const = 0;

  DType TypeOf(const std::vector<Tensor>& inputs) const {
    if (inputs.empty()) {
      throw Error(ErrorKind::kInvalidArgument, "{}: values must hold at least one array",
                  std::string_view(values_.op));
    }
    return values_.TypeOf(inputs, inputs.size());
  }

  const Promotion values_;
  const int64_t axis_;
};

class Concat final : public Joined {
 public:
  explicit Concat(const Args& args) : Joined("concat", args) {}

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    DType type = TypeOf(inputs);
    Shape shape = inputs[0].shape();
    const int axis = AxisOf(shape);
    for (size_t i = 1; i < inputs.size(); ++i) {
      const Shape& other = inputs[i].shape();
      bool fits = other.rank() == shape.rank();
      for (int a = 0; fits && a < shape.rank(); ++a) fits = a == axis || other[a] == shape[a];
      if (!fits) {
        throw Error(ErrorKind::kInvalidArgument,
                    "concat: values must have the same shape except along axis {}, got {} and, as "
                    "number {}, {}",
                    axis_, inputs[0].shape().ToString(), i, other.ToString());
      }
      shape[axis] += other[axis];
    }
    return {type, shape};
  }

  // The inputs are joined along the axis in which rows differ.
  std::optional<Column> CallRagged(const std::vector<Column>& inputs, int64_t rows) const override {
    std::vector<Tensor> items;  // rows without their leading axis
    int rank = 0;
    for (const Column& input : inputs) {
      if (input.ragged()) rank = input.rank();
    }
    for (const Column& input : inputs) {
      if (input.rank() == 0 || input.rank() != rank) return std::nullopt;
      if (input.dtype().code == TypeCode::kObject) return std::nullopt;
      items.push_back(input.Flat());
      if (!(items.back().shape().WithoutFirst() == items[0].shape().WithoutFirst())) {
        return std::nullopt;
      }
    }
    if (NormalAxis("concat", "axis", axis_, rank) != 0) return std::nullopt;
    const DType type = TypeOf(items);
    for (size_t i = 0; i < items.size() && !type.is_reference(); ++i) {
      items[i] = values_.Converted(items, i, type);
    }
    std::vector<int64_t> ends{0};
    std::vector<ItemRun> runs;
    for (int64_t row = 0; row < rows; ++row) {
      ends.push_back(ends.back());
      for (size_t i = 0; i < items.size(); ++i) {
        const auto [begin, count] = inputs[i].RangeOf(row);
        ends.back() += count;
        runs.push_back({&items[i], begin, count});
      }
    }
    Shape shape = items[0].shape();
    shape[0] = ends.back();
    return Column(JoinRuns(type, shape, runs), std::move(ends));
  }

 private:
  int AxisOf(const Shape& shape) const override {
    if (shape.rank() == 0) {
      throw Error(ErrorKind::kInvalidArgument,
                  "concat: values must have at least one axis, got numbers; use stack");
    }
    return NormalAxis("concat", "axis", axis_, shape.rank());
  }
};

class Stack final : public Joined {
 public:
  explicit Stack(const Args& args) : Joined("stack", args) {}

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    DType type = TypeOf(inputs);
    const Shape& first = inputs[0].shape();
    for (size_t i = 1; i < inputs.size(); ++i) {
      if (inputs[i].shape() == first) continue;
      throw Error(ErrorKind::kInvalidArgument,
                  "stack: values must be of one shape; number 0 has {}, number {} has {}",
                  first.ToString(), i, inputs[i].shape().ToString());
    }
    Shape shape = first.Prepend(0);
    int axis = AxisOf(first);
    for (int i = 0; i < axis; ++i) shape[i] = shape[i + 1];
    shape[axis] = static_cast<int64_t>(inputs.size());
    return {type, shape};
  }

 private:
  int AxisOf(const Shape& shape) const override {
    return NormalAxis("stack", "axis", axis_, shape.rank() + 1);
  }
};

const RegisterOp concat_op("concat", NewOp<Concat>);
const RegisterOp stack_op("stack", NewOp<Stack>);

}  // namespace
}  // namespace penstock
