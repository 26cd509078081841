// image.flip_left_right and image.random_flip_left_right: images mirrored along their width.
#include <cstring>

#include "ops/new_op.h"
#include "ops/operand.h"

namespace penstock {
namespace {

// kPixel: its size in bytes when known, so that a copy is a load and a store.
template <int64_t kPixel>
void FlipRows(const uint8_t* in, int64_t rows, int64_t width, int64_t pixel, uint8_t* out) {
  if (kPixel) pixel = kPixel;
  for (; rows > 0; --rows, in += width * pixel) {
    for (const uint8_t* from = in + width * pixel; from != in; out += pixel) {
      from -= pixel;
      std::memcpy(out, from, static_cast<size_t>(pixel));
    }
  }
}

auto RowFlipper(int64_t pixel) {
  switch (pixel) {
    case 1:
      return FlipRows<1>;
    case 3:
      return FlipRows<3>;
    case 4:
      return FlipRows<4>;
    case 12:
      return FlipRows<12>;
    default:
      return FlipRows<0>;
  }
}

class Flip : public FillOp {
 public:
  LeafSpec Output(const std::vector<Tensor>& inputs) const final {
    CheckInputs(operand().op, inputs, 1);
    operand().Images(inputs[0]);
    return {inputs[0].dtype(), inputs[0].shape()};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey key) const final {
    if (out.elements() == 0) return;
    ImageBatch images = operand().Images(inputs[0]);
    int64_t pixel = images.channels * inputs[0].dtype().itemsize;
    int64_t size = images.height * images.width * pixel;  // of an image, bytes
    const uint8_t* from = inputs[0].data();
    uint8_t* to = out.mutable_data();
    for (int64_t n = 0; n < images.count; ++n, from += size, to += size) {
      if (Flips(key, n)) {
        RowFlipper(pixel)(from, images.height, images.width, pixel, to);
      } else {
        std::memcpy(to, from, static_cast<size_t>(size));
      }
    }
  }

 private:
  virtual Operand operand() const = 0;
  virtual bool Flips(RandomKey key, int64_t image) const = 0;
};

class FlipLeftRight final : public Flip {
  Operand operand() const override { return {"flip_left_right", "image"}; }
  bool Flips(RandomKey, int64_t) const override { return true; }
};

class RandomFlipLeftRight final : public Flip {
  Operand operand() const override { return {"random_flip_left_right", "image"}; }
  bool random() const override { return true; }
  bool Flips(RandomKey key, int64_t image) const override {
    return key.DrawUnit(static_cast<uint64_t>(image)) < 0.5;
  }
};

const RegisterOp registration("image.flip_left_right", NewOp<FlipLeftRight>);
const RegisterOp random_registration("image.random_flip_left_right", NewOp<RandomFlipLeftRight>);

}  // namespace
}  // namespace penstock
