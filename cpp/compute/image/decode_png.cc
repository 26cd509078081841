// image.decode_png: decodes a PNG to an array (height, width, channels) of uint8 or uint16.
#include "compute/image/image_file.h"
#include "compute/image/missing_codec.h"
#include "compute/image/png_decoder.h"
#include "compute/new_op.h"
#include "compute/operand.h"
#include "compute/real_types.h"

namespace penstock {
namespace {

#if defined(PENSTOCK_HAS_PNG)
constexpr Operand kPngContents{"decode_png", "contents"};
// DEFLATE expands a byte to at most this many.
constexpr int64_t kMostExpansion = 1032;

class DecodePngOp final : public RegionOp {
 public:
  explicit DecodePngOp(const Args& args)
      : channels_(args.Int("channels")),
        dtype_(TypeNamed("decode_png", "dtype", args.Text("dtype"))),
        max_pixels_(args.IntAtLeast("max_pixels", 1, kMaxPixels)) {
    if (channels_ < 0 || channels_ > 4) {
      throw Error(ErrorKind::kInvalidArgument,
                  "decode_png: channels must be 0, 1, 2, 3 or 4, got {}", channels_);
    }
    if (dtype_.code != TypeCode::kUInt8 && dtype_.code != TypeCode::kUInt16) {
      throw Error(ErrorKind::kType, "decode_png: dtype must be uint8 or uint16, got {}",
                  dtype_.name());
    }
  }

  Unmade Open(const std::vector<Tensor>& inputs, RandomKey) const override {
    CheckInputs("decode_png", inputs, 1);
    std::string_view contents = kPngContents.String(inputs[0]);
    PngHeader header = ReadPngHeader("decode_png", contents);
    CheckPixels("decode_png", header.height, header.width, max_pixels_);
    // Refuse a size that this image cannot have, before memory is allocated for it.
    if (header.height * header.row_bytes() / kMostExpansion >
        static_cast<int64_t>(contents.size())) {
      throw Error(ErrorKind::kData,
                  "decode_png: contents are truncated or corrupt: the header says {} x {} pixels, "
                  "too many for {} bytes",
                  header.width, header.height, contents.size());
    }
    const int64_t channels = channels_ ? channels_ : header.channels;
    const PngOptions options{static_cast<int>(channels), static_cast<int>(8 * dtype_.itemsize)};
    auto begin = [=](const Region& region) { return DecodePng(contents, header, options, region); };
    return {{dtype_, {header.height, header.width, channels}}, begin};
  }

 private:
  const int64_t channels_;
  const DType dtype_;
  const int64_t max_pixels_;
};
const RegisterOp image_decode_png_op("image.decode_png", NewOp<DecodePngOp>);
#else
std::unique_ptr<const Op> MissingPngDecoder(const Args&) {
  throw MissingCodec("decode_png", "libpng", "libpng-dev");
}

const RegisterOp image_decode_png_op("image.decode_png", MissingPngDecoder);
#endif

}  // namespace
}  // namespace penstock
