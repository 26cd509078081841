// image.jpeg_coefficients: stores the coefficients of JPEGs, which makes them cheaper to decode.
#include "compute/image/jpeg_coefficients.h"

#include "compute/image/missing_codec.h"
#include "compute/image/rewrite_jpegs.h"
#include "compute/new_op.h"

namespace penstock {
namespace {

#if defined(PENSTOCK_HAS_JPEG)
class JpegCoefficients final : public Op {
 public:
  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey) const override {
    return RewriteJpegs("jpeg_coefficients", inputs, StoreCoefficients);
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
