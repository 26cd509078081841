// image.flip_left_right, image.flip_up_down and their random variants: mirrored images.
#include <cstring>

#include "compute/image/copy_pixels.h"
#include "compute/new_op.h"
#include "compute/operand.h"

namespace penstock {
namespace {

enum class FlipAxis { kWidth, kHeight };

class Flip : public FillOp {
 public:
  Flip(const char* name, FlipAxis axis) : image_{name, "image"}, axis_(axis) {}

  LeafSpec Output(const std::vector<Tensor>& inputs) const final {
    CheckInputs(image_.op, inputs, 1);
    image_.Images(inputs[0]);
    return {inputs[0].dtype(), inputs[0].shape()};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey key) const final {
    if (out.elements() == 0) return;
    ImageBatch images = image_.Images(inputs[0]);
    const int64_t pixel = images.channels * inputs[0].dtype().itemsize;
    const int64_t row = images.width * pixel, size = images.height * row;  // in bytes
    const uint8_t* from = inputs[0].data();
    uint8_t* to = out.mutable_data();
    for (int64_t n = 0; n < images.count; ++n, from += size, to += size) {
      if (!Flips(key, n)) {
        std::memcpy(to, from, static_cast<size_t>(size));
      } else if (axis_ == FlipAxis::kWidth) {
        CopyPixels(from + row - pixel, images.height, images.width, row, -pixel, pixel, to);
      } else {
        CopyPixels(from + size - row, images.height, images.width, -row, pixel, pixel, to);
      }
    }
  }

  bool row_local() const final { return axis_ == FlipAxis::kWidth; }

 private:
  virtual bool Flips(RandomKey, int64_t /*image*/) const { return true; }

  const Operand image_;
  const FlipAxis axis_;
};

class RandomFlip : public Flip {
 public:
  using Flip::Flip;
  bool random() const final { return true; }

 private:
  bool Flips(RandomKey key, int64_t image) const final {
    return key.DrawUnit(static_cast<uint64_t>(image)) < 0.5;
  }
};

struct FlipLeftRight final : Flip {
  FlipLeftRight() : Flip("flip_left_right", FlipAxis::kWidth) {}
};
struct FlipUpDown final : Flip {
  FlipUpDown() : Flip("flip_up_down", FlipAxis::kHeight) {}
};
struct RandomFlipLeftRight final : RandomFlip {
  RandomFlipLeftRight() : RandomFlip("random_flip_left_right", FlipAxis::kWidth) {}
};
struct RandomFlipUpDown final : RandomFlip {
  RandomFlipUpDown() : RandomFlip("random_flip_up_down", FlipAxis::kHeight) {}
};

const RegisterOp image_flip_left_right_op("image.flip_left_right", NewOp<FlipLeftRight>);
const RegisterOp image_flip_up_down_op("image.flip_up_down", NewOp<FlipUpDown>);
const RegisterOp image_random_flip_left_right_op("image.random_flip_left_right",
                                                 NewOp<RandomFlipLeftRight>);
const RegisterOp image_random_flip_up_down_op("image.random_flip_up_down", NewOp<RandomFlipUpDown>);

}  // namespace
}  // namespace penstock
