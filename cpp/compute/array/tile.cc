// tile: repeats an array along its axes.
#include "compute/array/axes.h"
#include "compute/array/items_op.h"
#include "compute/array/take_axes.h"
#include "compute/new_op.h"
#include "compute/operand.h"
#include "data/error.h"

namespace penstock {
namespace {

class Tile final : public ItemsOp {
 public:
  // any_rank: axes of size 1 are prepended until array and multiples have the same rank.
  explicit Tile(const Args& args) : any_rank_(args.Bool("any_rank")) {}

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("tile", inputs, 2);
    Shape shape = inputs[0].shape();
    Shape times = ShapeFrom("tile", "multiples", inputs[1], 0);
    while (any_rank_ && times.rank() < shape.rank()) times = times.Prepend(1);
    while (any_rank_ && shape.rank() < times.rank()) shape = shape.Prepend(1);
    if (times.rank() != shape.rank()) {
      throw Error(ErrorKind::kInvalidArgument,
                  "tile: multiples must hold a number for each axis, got {} for an array of shape "
                  "{}",
                  times.rank(), shape.ToString());
    }
    std::vector<int64_t> dims;
    for (int i = 0; i < times.rank(); ++i) {
      int64_t size = shape[i];
      if (size > 0 && times[i] > (int64_t{1} << 56) / size) {
        throw Error(ErrorKind::kInvalidArgument, "tile: multiples makes too large an array");
      }
      dims.push_back(size * times[i]);
    }
    return {inputs[0].dtype(), ShapeOfSizes("tile", "multiples", dims)};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    Shape shape = inputs[0].shape();
    while (shape.rank() < out.shape().rank()) shape = shape.Prepend(1);
    Tensor x = inputs[0].Reshaped(shape);
    std::vector<AxisTable> tables(static_cast<size_t>(x.shape().rank()));
    for (int axis = 0; axis < x.shape().rank(); ++axis) {
      int64_t size = x.shape()[axis];
      if (size == out.shape()[axis]) continue;
      AxisTable& table = tables[static_cast<size_t>(axis)];
      for (int64_t i = 0; i < out.shape()[axis]; ++i) table.push_back(i % size);
    }
    TakeAxes(x, tables, nullptr, out);
  }

 private:
  const bool any_rank_;
};

const RegisterOp tile_op("tile", NewOp<Tile>);

}  // namespace
}  // namespace penstock
