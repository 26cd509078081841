// transpose: permutes the axes of an array.
#include <array>
#include <cstring>

#include "compute/array/axes.h"
#include "compute/array/items_op.h"
#include "compute/new_op.h"
#include "compute/operand.h"
#include "data/error.h"

namespace penstock {
namespace {

// Copies `count` runs of `size` bytes, which begin `stride` bytes apart.
template <size_t size>
void Collect(const uint8_t* from, int64_t stride, int64_t count, uint8_t* to) {
  for (int64_t i = 0; i < count; ++i, from += stride, to += size) std::memcpy(to, from, size);
}

void Collect(const uint8_t* from, int64_t stride, int64_t count, int64_t size, uint8_t* to) {
  switch (size) {
    case 1:
      return Collect<1>(from, stride, count, to);
    case 2:
      return Collect<2>(from, stride, count, to);
    case 4:
      return Collect<4>(from, stride, count, to);
    case 8:
      return Collect<8>(from, stride, count, to);
    default:
      for (int64_t i = 0; i < count; ++i, from += stride, to += size) {
        std::memcpy(to, from, static_cast<size_t>(size));
      }
  }
}

class Transpose final : public ItemsOp {
 public:
  // perm: the input axis for each output axis; absent: reverses all axes.
  explicit Transpose(const Args& args)
      : reversed_(!args.Has("perm")),
        perm_(reversed_ ? std::vector<int64_t>{} : args.Ints("perm")) {}

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("transpose", inputs, 1);
    const Shape& from = inputs[0].shape();
    std::vector<int> order = OrderFor(from);
    Shape shape = from;
    for (int i = 0; i < from.rank(); ++i) shape[i] = from[order[static_cast<size_t>(i)]];
    return {inputs[0].dtype(), shape};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    const Tensor& x = inputs[0];
    if (out.elements() == 0) return;
    std::vector<int> order = OrderFor(x.shape());
    std::array<int64_t, kMaxRank> strides{};  // of the input, in bytes
    int64_t stride = x.dtype().itemsize;
    for (int i = x.shape().rank() - 1; i >= 0; stride *= x.shape()[i--]) strides[i] = stride;
    int rank = x.shape().rank();
    int64_t size = x.dtype().itemsize;  // bytes that stay together
    while (rank > 0 && order[static_cast<size_t>(rank) - 1] == rank - 1) {
      size *= x.shape()[--rank];
    }
    if (rank == 0) {
      std::memcpy(out.mutable_data(), x.data(), x.nbytes());
      return;
    }
    const uint8_t* from = x.data();
    uint8_t* to = out.mutable_data();
    const int64_t inner = out.shape()[rank - 1];
    const int64_t inner_stride = strides[static_cast<size_t>(order[static_cast<size_t>(rank) - 1])];
    std::array<int64_t, kMaxRank> at{};
    for (;;) {
      Collect(from, inner_stride, inner, size, to);
      to += inner * size;
      int axis = rank - 2;
      for (; axis >= 0; --axis) {
        int64_t step = strides[static_cast<size_t>(order[static_cast<size_t>(axis)])];
        from += step;
        if (++at[axis] < out.shape()[axis]) break;
        from -= step * out.shape()[axis];
        at[axis] = 0;
      }
      if (axis < 0) return;
    }
  }

 private:
  std::vector<int> OrderFor(const Shape& shape) const {
    std::vector<int> order;
    if (reversed_) {
      for (int i = shape.rank(); i-- > 0;) order.push_back(i);
      return order;
    }
    if (static_cast<int>(perm_.size()) != shape.rank()) {
      throw Error(ErrorKind::kInvalidArgument,
                  "transpose: perm must name each axis once, got {} axes for shape {}",
                  perm_.size(), shape.ToString());
    }
    NamedAxes("transpose", perm_, shape.rank());
    for (int64_t axis : perm_) order.push_back(NormalAxis("transpose", "perm", axis, shape.rank()));
    return order;
  }

  const bool reversed_;
  const std::vector<int64_t> perm_;
};

const RegisterOp transpose_op("transpose", NewOp<Transpose>);

}  // namespace
}  // namespace penstock
