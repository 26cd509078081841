// image.pad_to_bounding_box and image.resize_with_crop_or_pad: place images on a canvas of zeros.
#include <algorithm>
#include <cstring>

#include "compute/image/region.h"
#include "compute/new_op.h"

namespace penstock {
namespace {

// Zero bytes are the zero of every number type.
void FillWithZeros(Tensor& out) { std::memset(out.mutable_data(), 0, out.nbytes()); }

constexpr Operand kPaddedImage{"pad_to_bounding_box", "image"};
constexpr Operand kPaddedBox{"pad_to_bounding_box",
                             "offset_height, offset_width, target_height and target_width"};

// Inputs: the image, then rows above, columns to the left, height and width of the result.
class PadToBoundingBox final : public FillOp {
 public:
  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("pad_to_bounding_box", inputs, 2, 5);
    ImageBatch images = kPaddedImage.Images(inputs[0]);
    std::vector<int64_t> box = IntegersFrom(kPaddedBox, inputs, 1, 4);
    bool fits = box[0] >= 0 && box[1] >= 0 && box[2] >= box[0] && box[3] >= box[1] &&
                images.height <= box[2] - box[0] && images.width <= box[3] - box[1];
    if (!fits) {
      throw Error(ErrorKind::kInvalidArgument,
                  "pad_to_bounding_box: the image of {} rows and {} columns must lie within the "
                  "target, got {} rows with an offset of {} and {} columns with an offset of {}",
                  images.height, images.width, box[2], box[0], box[3], box[1]);
    }
    return {inputs[0].dtype(), ResizedShape(inputs[0].shape(), box[2], box[3])};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    ImageBatch images = kPaddedImage.Images(inputs[0]);
    std::vector<int64_t> box = IntegersFrom(kPaddedBox, inputs, 1, 4);
    if (box[2] != images.height || box[3] != images.width) FillWithZeros(out);
    CopyRegion(inputs[0], {0, 0, images.height, images.width}, out, box[0], box[1]);
  }
};

constexpr Operand kCropOrPadImage{"resize_with_crop_or_pad", "image"};
constexpr Operand kCropOrPadTarget{"resize_with_crop_or_pad", "target_height and target_width"};

// The part taken from one axis, and its position in the result.
struct Side {
  int64_t from, count, to;
};

Side Centered(int64_t size, int64_t target) {
  if (size >= target) return {(size - target) / 2, target, 0};
  return {0, size, (target - size) / 2};
}

// Inputs: the image, then height and width of the result.
class CropOrPad final : public CropOp {
 public:
  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    CheckInputs("resize_with_crop_or_pad", inputs, 3);
    kCropOrPadImage.Images(inputs[0]);
    std::vector<int64_t> target = IntegersFrom(kCropOrPadTarget, inputs, 1, 2);
    if (target[0] < 1 || target[1] < 1) {
      throw Error(ErrorKind::kInvalidArgument,
                  "resize_with_crop_or_pad: target_height and target_width must be >= 1, got {} "
                  "and {}",
                  target[0], target[1]);
    }
    return {inputs[0].dtype(), ResizedShape(inputs[0].shape(), target[0], target[1])};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const override {
    auto [rows, columns] = Sides(inputs);
    ImageBatch to = kCropOrPadImage.Images(out);
    if (rows.count < to.height || columns.count < to.width) FillWithZeros(out);
    CopyRegion(inputs[0], {rows.from, columns.from, rows.count, columns.count}, out, rows.to,
               columns.to);
  }

  std::optional<Region> RegionOf(const std::vector<Tensor>& inputs, RandomKey) const override {
    auto [rows, columns] = Sides(inputs);
    Shape shape = Output(inputs).shape;
    bool padded = rows.count < shape[shape.rank() - 3] || columns.count < shape[shape.rank() - 2];
    if (padded || shape.rank() != 3) return std::nullopt;
    return Region{rows.from, columns.from, rows.count, columns.count};
  }

 private:
  static std::pair<Side, Side> Sides(const std::vector<Tensor>& inputs) {
    ImageBatch images = kCropOrPadImage.Images(inputs[0]);
    std::vector<int64_t> target = IntegersFrom(kCropOrPadTarget, inputs, 1, 2);
    return {Centered(images.height, target[0]), Centered(images.width, target[1])};
  }
};

const RegisterOp image_pad_to_bounding_box_op("image.pad_to_bounding_box", NewOp<PadToBoundingBox>);
const RegisterOp image_resize_with_crop_or_pad_op("image.resize_with_crop_or_pad",
                                                  NewOp<CropOrPad>);

}  // namespace
}  // namespace penstock
