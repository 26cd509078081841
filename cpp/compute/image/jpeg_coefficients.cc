// image.jpeg_coefficients: JPEGs with their coefficients stored, which are decoded for less work.
#include "compute/image/jpeg_coefficients.h"

#include "compute/image/jpeg_header.h"
#include "compute/image/missing_codec.h"
#include "compute/new_op.h"
#include "compute/operand.h"

namespace penstock {
namespace {

#if defined(PENSTOCK_HAS_JPEG)
class JpegCoefficients final : public Op {
 public:
  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey) const override {
    CheckInputs("jpeg_coefficients", inputs, 1);
    const Tensor& contents = inputs[0];
    if (contents.dtype().code != TypeCode::kBytes) {
      throw Error(ErrorKind::kType, "jpeg_coefficients: contents must be bytes, got {}",
                  contents.dtype().name());
    }
    const auto count = static_cast<size_t>(contents.elements());
    std::vector<std::string> stored(count);
    std::vector<std::string_view> items(count);
    for (size_t i = 0; i < count; ++i) {
      items[i] = contents.string(static_cast<int64_t>(i));
      if (StartsAsJpeg(items[i])) stored[i] = StoreCoefficients(items[i]);
      if (!stored[i].empty()) items[i] = stored[i];
    }
    return {Tensor::Strings(TypeCode::kBytes, contents.shape(), items)};
  }
};

const RegisterOp image_jpeg_coefficients_op("image.jpeg_coefficients", NewOp<JpegCoefficients>);
#else
std::unique_ptr<const Op> MissingJpegStore(const Args&) {
  throw MissingCodec("jpeg_coefficients", "libjpeg", "libjpeg62-turbo-dev");
}

const RegisterOp image_jpeg_coefficients_op("image.jpeg_coefficients", MissingJpegStore);
#endif

}  // namespace
}  // namespace penstock
