// image.random_crop: a part of an array, of a given size and at a random place.
#include <cstring>

#include "ops/new_op.h"
#include "ops/operand.h"

namespace penstock {
namespace {

constexpr Operand kValue{"random_crop", "value"};

// Copies the block of `size` at `offset` along the axes from `axis` on; gives the end of the copy.
uint8_t* CopyBlock(const uint8_t* in, const Shape& shape, const Shape& offset, const Shape& size,
                   int axis, int last, int64_t item, uint8_t* out) {
  int64_t stride = item;  // of this axis, bytes
  for (int i = axis + 1; i < shape.rank(); ++i) stride *= shape[i];
  in += offset[axis] * stride;
  if (axis == last) {
    std::memcpy(out, in, static_cast<size_t>(size[axis] * stride));
    return out + size[axis] * stride;
  }
  for (int64_t i = 0; i < size[axis]; ++i, in += stride) {
    out = CopyBlock(in, shape, offset, size, axis + 1, last, item, out);
  }
  return out;
}

class RandomCrop final : public Op {
 public:
  explicit RandomCrop(const Args& args) : size_(args.Ints("size")) {}

  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("random_crop", inputs, 1);
    kValue.CheckDense(inputs[0]);
    const Shape& shape = inputs[0].shape();
    if (static_cast<int>(size_.size()) != shape.rank()) {
      throw Error(ErrorKind::kInvalidArgument,
                  "random_crop: size must have one entry per axis of value, got {} for shape {}",
                  size_.size(), shape.ToString());
    }
    Shape size = shape;
    for (int i = 0; i < shape.rank(); ++i) {
      if (size_[i] < -1 || size_[i] > shape[i]) {
        throw Error(ErrorKind::kInvalidArgument,
                    "random_crop: size must be at most the size of value, or -1 to keep an axis, "
                    "got {} for axis {} of shape {}",
                    size_[i], i, shape.ToString());
      }
      if (size_[i] >= 0) size[i] = size_[i];
    }
    return {inputs[0].dtype(), size};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey key) const override {
    const Tensor& value = inputs[0];
    const Shape& shape = value.shape();
    const Shape& size = out.shape();
    if (out.elements() == 0) return;
    Shape offset = shape;
    int last = 0;  // the last axis that is cropped: behind it, memory is copied whole
    for (int i = 0; i < shape.rank(); ++i) {
      auto places = static_cast<uint64_t>(shape[i] - size[i] + 1);
      offset[i] = static_cast<int64_t>(key.DrawBelow(static_cast<uint64_t>(i), places));
      if (places > 1) last = i;
    }
    int64_t item = value.dtype().itemsize;
    if (shape.rank() == 0) {
      std::memcpy(out.mutable_data(), value.data(), static_cast<size_t>(item));
    } else {
      CopyBlock(value.data(), shape, offset, size, 0, last, item, out.mutable_data());
    }
  }

  bool random() const override { return true; }

 private:
  std::vector<int64_t> size_;
};

const RegisterOp registration("image.random_crop", NewOp<RandomCrop>);

}  // namespace
}  // namespace penstock
