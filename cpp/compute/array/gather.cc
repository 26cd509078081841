// gather: slices of an array, by index.
#include <cstring>

#include "compute/array/axes.h"
#include "compute/array/items_op.h"
#include "compute/cast_items.h"
#include "compute/new_op.h"
#include "compute/operand.h"
#include "compute/real_types.h"
#include "data/error.h"

namespace penstock {
namespace {

class Gather final : public ItemsOp {
 public:
  // from_end: as in numpy.take, negative numbers count from the end, and a number without axes is
  // an array of one item.
  explicit Gather(const Args& args)
      : axis_(args.Has("axis") ? args.Int("axis") : args.Int("batch_dims")),
        batch_dims_(args.Int("batch_dims")),
        from_end_(args.Bool("from_end")) {}

  // If all rows gather from the same array, the indices of all rows are gathered together.
  std::optional<Column> CallRagged(const std::vector<Column>& inputs,
                                   int64_t /*rows*/) const override {
    constexpr size_t kSmallSlice = 4096;  // bytes; larger ones are copied directly
    if (inputs.size() != 2 || !inputs[0].constant || axis_ != 0 || batch_dims_ != 0) {
      return std::nullopt;
    }
    const Tensor& params = inputs[0];
    const int64_t slices = params.shape().rank() > 0 ? params.shape()[0] : 0;
    if (slices == 0 || params.nbytes() / static_cast<size_t>(slices) > kSmallSlice) {
      return std::nullopt;
    }
    std::vector<Tensor> taken = Call({inputs[0], inputs[1]}, {});
    return Column(std::move(taken[0]), inputs[1].splits);
  }

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("gather", inputs, 2);
    const Shape params = ParamsOf(inputs).shape();
    const Shape& indices = inputs[1].shape();
    // The type of an empty list is arbitrary.
    if (!IsInteger(inputs[1].dtype().code) && indices.elements() > 0) {
      throw Error(ErrorKind::kType, "gather: indices must hold integers, got {}",
                  inputs[1].dtype().name());
    }
    const Split split = SplitOf(params, indices);
    std::vector<int64_t> dims(params.dims().begin(), params.dims().begin() + split.axis);
    dims.insert(dims.end(), indices.dims().begin() + split.batch, indices.dims().end());
    dims.insert(dims.end(), params.dims().begin() + split.axis + 1, params.dims().end());
    return {inputs[0].dtype(), ShapeOfSizes("gather", "indices", dims)};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    const Tensor params = ParamsOf(inputs);
    const Split split = SplitOf(params.shape(), inputs[1].shape());
    const int64_t size = params.shape()[split.axis];
    std::vector<int64_t> places = PlacesOf(inputs[1], size);
    if (out.elements() == 0) return;
    int64_t batches = 1, middle = 1, slice = params.dtype().itemsize;
    for (int i = 0; i < params.shape().rank(); ++i) {
      if (i < split.batch)
        batches *= params.shape()[i];
      else if (i < split.axis)
        middle *= params.shape()[i];
      else if (i > split.axis)
        slice *= params.shape()[i];
    }
    const int64_t count = static_cast<int64_t>(places.size()) / batches;
    uint8_t* to = out.mutable_data();
    for (int64_t batch = 0; batch < batches; ++batch) {
      for (int64_t m = 0; m < middle; ++m) {
        const uint8_t* from = params.data() + (batch * middle + m) * size * slice;
        for (int64_t i = 0; i < count; ++i, to += slice) {
          std::memcpy(to, from + places[static_cast<size_t>(batch * count + i)] * slice,
                      static_cast<size_t>(slice));
        }
      }
    }
  }

 private:
  Tensor ParamsOf(const std::vector<Tensor>& inputs) const {
    const Tensor& params = inputs[0];
    return from_end_ && params.shape().rank() == 0 ? params.Reshaped({1}) : params;
  }

  struct Split {
    int axis, batch;
  };

  Split SplitOf(const Shape& params, const Shape& indices) const {
    if (params.rank() == 0) {
      throw Error(ErrorKind::kInvalidArgument, "gather: params must have at least one axis");
    }
    Split split{NormalAxis("gather", "axis", axis_, params.rank()),
                NormalAxis("gather", "batch_dims", batch_dims_, indices.rank() + 1)};
    bool fits = split.batch <= split.axis;
    for (int i = 0; fits && i < split.batch; ++i) fits = params[i] == indices[i];
    if (!fits) {
      throw Error(ErrorKind::kInvalidArgument,
                  "gather: batch_dims must be at most axis, and the first {} axes of params and "
                  "indices the same, got shapes {} and {}",
                  split.batch, params.ToString(), indices.ToString());
    }
    return split;
  }

  std::vector<int64_t> PlacesOf(const Tensor& indices, int64_t size) const {
    std::vector<int64_t> places(static_cast<size_t>(indices.elements()));
    CastItems(indices.dtype().code, indices.data(), TypeCode::kInt64, places.data(), places.size());
    for (int64_t& place : places) {
      int64_t found = from_end_ && place < 0 ? place + size : place;
      if (size == 0) {
        throw Error(ErrorKind::kInvalidArgument, "gather: axis {} has no items to take, got {}",
                    axis_, place);
      }
      if (found < 0 || found >= size) {
        throw Error(ErrorKind::kInvalidArgument,
                    "gather: indices must lie in [{}, {}) for axis {}, got {}",
                    from_end_ ? -size : 0, size, axis_, place);
      }
      place = found;
    }
    return places;
  }

  const int64_t axis_, batch_dims_;
  const bool from_end_;
};

const RegisterOp gather_op("gather", NewOp<Gather>);

}  // namespace
}  // namespace penstock
