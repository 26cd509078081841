// image.index_jpeg: adds an index of MCUs to JPEGs, which makes windows cheaper to decode.
#include "compute/image/jpeg_index.h"
#include "compute/image/missing_codec.h"
#include "compute/image/rewrite_jpegs.h"
#include "compute/new_op.h"

namespace penstock {
namespace {

#if defined(PENSTOCK_HAS_JPEG)
class IndexJpegOp final : public Op {
 public:
  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey) const override {
    return RewriteJpegs("index_jpeg", inputs,
                        [](std::string_view jpeg) { return IndexJpeg(jpeg); });
  }
};

const RegisterOp image_index_jpeg_op("image.index_jpeg", NewOp<IndexJpegOp>);
#else
std::unique_ptr<const Op> MissingJpegIndex(const Args&) {
  throw MissingCodec("index_jpeg", "libjpeg", "libjpeg62-turbo-dev");
}

const RegisterOp image_index_jpeg_op("image.index_jpeg", MissingJpegIndex);
#endif

}  // namespace
}  // namespace penstock
