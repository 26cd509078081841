// join and reduce_join: concatenate strings.
#include <string>

#include "compute/array/axes.h"
#include "compute/new_op.h"
#include "compute/operand.h"
#include "compute/promote.h"
#include "compute/strings/string_items.h"
#include "data/error.h"

namespace penstock {
namespace {

class Join final : public Op {
 public:
  // Inputs: arrays of one shape, or single strings; then the separator.
  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey) const override {
    const size_t count = inputs.size() - 1;
    if (count == 0) {
      throw Error(ErrorKind::kInvalidArgument, "strings.join: inputs must hold at least one array");
    }
    std::string_view separator = OneString("strings.join", "separator", inputs[count]);
    Shape shape;
    for (size_t i = 0; i < count; ++i) {
      StringKind("strings.join", "inputs", inputs[i]);
      if (inputs[i].shape().rank() == 0) continue;
      if (shape.rank() != 0 && !(shape == inputs[i].shape())) {
        throw Error(ErrorKind::kInvalidArgument,
                    "strings.join: inputs must be single strings or of one shape, got {} and {}",
                    shape.ToString(), inputs[i].shape().ToString());
      }
      shape = inputs[i].shape();
    }
    DType type = Promotion{"strings.join", "inputs", {}}.TypeOf(inputs, count);
    std::vector<std::string> joined(static_cast<size_t>(shape.elements()));
    for (size_t item = 0; item < joined.size(); ++item) {
      for (size_t i = 0; i < count; ++i) {
        bool single = inputs[i].shape().rank() == 0;
        if (i) joined[item] += separator;
        joined[item] += inputs[i].string(single ? 0 : static_cast<int64_t>(item));
      }
    }
    std::vector<std::string_view> views(joined.begin(), joined.end());
    return {Tensor::Strings(type.code, shape, views)};
  }
};

class ReduceJoin final : public Op {
 public:
  // Inputs: strings, and the separator. axis: absent for all axes.
  explicit ReduceJoin(const Args& args)
      : all_(!args.Has("axis")),
        axis_(all_ ? 0 : args.Int("axis")),
        keepdims_(args.Bool("keepdims")) {}

  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey) const override {
    CheckInputs("strings.reduce_join", inputs, 2);
    TypeCode kind = StringKind("strings.reduce_join", "inputs", inputs[0]);
    std::string_view separator = OneString("strings.reduce_join", "separator", inputs[1]);
    const Shape from = inputs[0].shape();
    Shape flat = all_ ? Shape{inputs[0].elements()} : from;
    const int axis = NormalAxis("strings.reduce_join", "axis", axis_, flat.rank());
    std::vector<int64_t> dims;
    int64_t inner = 1;
    for (int i = 0; i < (all_ ? from.rank() : flat.rank()); ++i) {
      bool goes = all_ || i == axis;
      if (!goes) dims.push_back(flat[i]);
      if (goes && keepdims_) dims.push_back(1);
      if (!all_ && i > axis) inner *= flat[i];
    }
    Shape shape(dims.data(), dims.size());
    std::vector<std::string> joined(static_cast<size_t>(shape.elements()));
    for (size_t item = 0; item < joined.size(); ++item) {
      auto n = static_cast<int64_t>(item);
      int64_t first = n / inner * inner * flat[axis] + n % inner;
      for (int64_t i = 0; i < flat[axis]; ++i) {
        if (i) joined[item] += separator;
        joined[item] += inputs[0].string(first + i * inner);
      }
    }
    std::vector<std::string_view> views(joined.begin(), joined.end());
    return {Tensor::Strings(kind, shape, views)};
  }

 private:
  const bool all_;
  const int64_t axis_;
  const bool keepdims_;
};

const RegisterOp strings_join_op("strings.join", NewOp<Join>);
const RegisterOp strings_reduce_join_op("strings.reduce_join", NewOp<ReduceJoin>);

}  // namespace
}  // namespace penstock
