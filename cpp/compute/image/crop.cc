// image.crop_to_bounding_box and image.central_crop: crop images to a window.
#include "compute/image/region.h"
#include "compute/new_op.h"

namespace penstock {
namespace {

class Crop : public CropOp {
 public:
  LeafSpec Output(const std::vector<Tensor>& inputs) const final {
    Region part = PartOf(inputs);
    return {inputs[0].dtype(), ResizedShape(inputs[0].shape(), part.height, part.width)};
  }

  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey) const final {
    CopyRegion(inputs[0], PartOf(inputs), out, 0, 0);
  }

  std::optional<Region> RegionOf(const std::vector<Tensor>& inputs, RandomKey) const final {
    if (inputs[0].shape().rank() != 3) return std::nullopt;
    Region part = PartOf(inputs);
    if (part.height == 0 || part.width == 0) return std::nullopt;
    return part;
  }

 private:
  virtual Region PartOf(const std::vector<Tensor>& inputs) const = 0;
};

constexpr Operand kBoxedImage{"crop_to_bounding_box", "image"};
constexpr Operand kBox{"crop_to_bounding_box",
                       "offset_height, offset_width, target_height and target_width"};

// Inputs: the image, then top, left, height and width of the box, in one tensor or in several.
class CropToBoundingBox final : public Crop {
  Region PartOf(const std::vector<Tensor>& inputs) const override {
    CheckInputs("crop_to_bounding_box", inputs, 2, 5);
    ImageBatch images = kBoxedImage.Images(inputs[0]);
    std::vector<int64_t> box = IntegersFrom(kBox, inputs, 1, 4);
    bool inside = box[0] >= 0 && box[1] >= 0 && box[2] > 0 && box[3] > 0 &&
                  box[2] <= images.height - box[0] && box[3] <= images.width - box[1];
    if (!inside) {
      throw Error(ErrorKind::kInvalidArgument,
                  "crop_to_bounding_box: the box must have pixels and lie within the image of {} "
                  "rows and {} columns, got {} rows from {} and {} columns from {}",
                  images.height, images.width, box[2], box[0], box[3], box[1]);
    }
    return {box[0], box[1], box[2], box[3]};
  }
};

constexpr Operand kCentralImage{"central_crop", "image"};
constexpr Operand kFraction{"central_crop", "central_fraction"};

// Inputs: the image, and the fraction of each side that is kept.
class CentralCrop final : public Crop {
  Region PartOf(const std::vector<Tensor>& inputs) const override {
    CheckInputs("central_crop", inputs, 2);
    ImageBatch images = kCentralImage.Images(inputs[0]);
    double fraction = FractionOf(inputs[1]);
    // The margins are truncated to whole pixels, in float64.
    auto margin = [&](int64_t size) {
      auto side = static_cast<double>(size);
      return static_cast<int64_t>((side - side * fraction) / 2);
    };
    int64_t y = margin(images.height), x = margin(images.width);
    return {y, x, images.height - 2 * y, images.width - 2 * x};
  }

  static double FractionOf(const Tensor& tensor) {
    double fraction = kFraction.Number(tensor);
    if (!(fraction > 0 && fraction <= 1)) {
      throw Error(ErrorKind::kInvalidArgument,
                  "central_crop: central_fraction must be above 0 and at most 1, got {}", fraction);
    }
    return fraction;
  }
};

const RegisterOp image_crop_to_bounding_box_op("image.crop_to_bounding_box",
                                               NewOp<CropToBoundingBox>);
const RegisterOp image_central_crop_op("image.central_crop", NewOp<CentralCrop>);

}  // namespace
}  // namespace penstock
