// image.rot90 and image.transpose: rows of images become columns.
#include "compute/image/copy_pixels.h"
#include "compute/image/region.h"
#include "compute/new_op.h"

namespace penstock {
namespace {

// Output pixel (0, 0) is input pixel (y, x). The other members are the steps in the input for one
// row or column of the output. All are in pixels.
struct PixelWalk {
  bool swaps;  // height and width
  int64_t y, x;
  int64_t down_y, down_x;    // for one output row
  int64_t right_y, right_x;  // for one output column
};

Shape ShapeAfter(const PixelWalk& walk, const Tensor& image, const ImageBatch& images) {
  if (!walk.swaps) return image.shape();
  return ResizedShape(image.shape(), images.width, images.height);
}

void CopyAlong(const PixelWalk& walk, const Tensor& image, const ImageBatch& images, Tensor& out) {
  if (out.elements() == 0) return;
  const int64_t pixel = images.channels * image.dtype().itemsize;
  const int64_t row = images.width * pixel, size = images.height * row;  // in bytes
  const int64_t height = walk.swaps ? images.width : images.height;
  const int64_t width = walk.swaps ? images.height : images.width;
  const uint8_t* from = image.data() + walk.y * row + walk.x * pixel;
  uint8_t* to = out.mutable_data();
  for (int64_t n = 0; n < images.count; ++n, from += size, to += size) {
    CopyPixels(from, height, width, walk.down_y * row + walk.down_x * pixel,
               walk.right_y * row + walk.right_x * pixel, pixel, to);
  }
}

constexpr Operand kRotated{"rot90", "image"};
constexpr Operand kTurns{"rot90", "k"};

// Inputs: the image, and the number of counterclockwise quarter turns.
class Rot90 final : public FillOp {
 public:
  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("rot90", inputs, 2);
    ImageBatch images = kRotated.Images(inputs[0]);
    return {inputs[0].dtype(), ShapeAfter(WalkOf(inputs, images), inputs[0], images)};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    ImageBatch images = kRotated.Images(inputs[0]);
    CopyAlong(WalkOf(inputs, images), inputs[0], images, out);
  }

 private:
  static PixelWalk WalkOf(const std::vector<Tensor>& inputs, const ImageBatch& images) {
    const int64_t bottom = images.height - 1, right = images.width - 1;
    switch (IntegersFrom(kTurns, inputs, 1, 1)[0] & 3) {  // correct for negative numbers too
      case 1:
        return {true, 0, right, 0, -1, 1, 0};
      case 2:
        return {false, bottom, right, -1, 0, 0, -1};
      case 3:
        return {true, bottom, 0, 0, 1, -1, 0};
      default:
        return {false, 0, 0, 1, 0, 0, 1};
    }
  }
};

constexpr Operand kTransposed{"transpose", "image"};

class TransposeImage final : public FillOp {
 public:
  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("transpose", inputs, 1);
    ImageBatch images = kTransposed.Images(inputs[0]);
    return {inputs[0].dtype(), ShapeAfter(kWalk, inputs[0], images)};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    CopyAlong(kWalk, inputs[0], kTransposed.Images(inputs[0]), out);
  }

 private:
  static constexpr PixelWalk kWalk{true, 0, 0, 0, 1, 1, 0};
};

const RegisterOp image_rot90_op("image.rot90", NewOp<Rot90>);
const RegisterOp image_transpose_op("image.transpose", NewOp<TransposeImage>);

}  // namespace
}  // namespace penstock
