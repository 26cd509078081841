// image.random_crop: a subarray of a given size at a random offset.
#include <cstring>

#include "compute/new_op.h"
#include "compute/operand.h"

namespace penstock {
namespace {

constexpr Operand kValue{"random_crop", "value"};
constexpr Operand kCropSize{"random_crop", "size"};

// Copies the block of `size` at `offset` along the axes from `axis` on; returns the end of the
// copy.
uint8_t* CopyBlock(const uint8_t* in, const Shape& shape, const Shape& offset, const Shape& size,
                   int axis, int last, int64_t item, uint8_t* out) {
  int64_t stride = item;  // of this axis, in bytes
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

class RandomCrop final : public CropOp {
 public:
  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("random_crop", inputs, 2);
    kValue.CheckDense(inputs[0]);
    const Shape& shape = inputs[0].shape();
    if (inputs[1].elements() != shape.rank()) {
      throw Error(ErrorKind::kInvalidArgument,
                  "random_crop: size must have one entry per axis of value, got {} for shape {}",
                  inputs[1].elements(), shape.ToString());
    }
    const std::vector<int64_t> wanted = kCropSize.Integers(inputs[1], shape.rank());
    Shape size = shape;
    for (int i = 0; i < shape.rank(); ++i) {
      if (wanted[i] < -1 || wanted[i] > shape[i]) {
        throw Error(ErrorKind::kInvalidArgument,
                    "random_crop: size must be at most the size of value, or -1 to keep an axis, "
                    "got {} for axis {} of shape {}",
                    wanted[i], i, shape.ToString());
      }
      if (wanted[i] >= 0) size[i] = wanted[i];
    }
    return {inputs[0].dtype(), size};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey key) const override {
    const Tensor& value = inputs[0];
    const Shape& shape = value.shape();
    const Shape& size = out.shape();
    if (out.elements() == 0) return;
    Shape offset = OffsetOf(shape, size, key);
    int last = 0;  // last cropped axis: later axes are copied whole
    for (int i = 0; i < shape.rank(); ++i) {
      if (size[i] < shape[i]) last = i;
    }
    int64_t item = value.dtype().itemsize;
    if (shape.rank() == 0) {
      std::memcpy(out.mutable_data(), value.data(), static_cast<size_t>(item));
    } else {
      CopyBlock(value.data(), shape, offset, size, 0, last, item, out.mutable_data());
    }
  }

  std::optional<Region> RegionOf(const std::vector<Tensor>& inputs, RandomKey key) const override {
    const Shape& shape = inputs[0].shape();
    Shape size = Output(inputs).shape;
    if (shape.rank() != 3 || size[2] != shape[2] || size.elements() == 0) return std::nullopt;
    Shape offset = OffsetOf(shape, size, key);
    return Region{offset[0], offset[1], size[0], size[1]};
  }

  bool random() const override { return true; }

 private:
  static Shape OffsetOf(const Shape& shape, const Shape& size, RandomKey key) {
    Shape offset = shape;
    for (int i = 0; i < shape.rank(); ++i) {
      auto places = static_cast<uint64_t>(shape[i] - size[i] + 1);
      offset[i] = static_cast<int64_t>(key.DrawBelow(static_cast<uint64_t>(i), places));
    }
    return offset;
  }
};

const RegisterOp image_random_crop_op("image.random_crop", NewOp<RandomCrop>);

}  // namespace
}  // namespace penstock
