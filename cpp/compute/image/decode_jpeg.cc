// image.decode_jpeg: decodes a JPEG, or a window of it, to an array (height, width, channels) of
// uint8.
#include "compute/image/image_file.h"
#include "compute/image/jpeg_decoder.h"
#include "compute/image/jpeg_header.h"
#include "compute/image/missing_codec.h"
#include "compute/new_op.h"
#include "compute/operand.h"

namespace penstock {
namespace {

#if defined(PENSTOCK_HAS_JPEG)
constexpr Operand kJpegContents{"decode_jpeg", "contents"};
constexpr Operand kCropWindow{"decode_jpeg", "crop_window"};
constexpr int64_t kBlock = 8;  // pixels on a side of the coded blocks

// Whether the ratio is chosen for the resize that follows.
bool IsAutomatic(const Args& args) {
  const auto found = args.values().find("ratio");
  const auto* text =
      found == args.values().end() ? nullptr : std::get_if<std::string>(&found->second);
  return text && *text == "auto";
}

JpegOptions OptionsOf(const Args& args) {
  JpegOptions options;
  options.fancy_upscaling = args.Bool("fancy_upscaling");
  options.recover_truncated = args.Bool("try_recover_truncated");
  options.acceptable_fraction = args.Float("acceptable_fraction");
  int64_t channels = args.Int("channels"), ratio = IsAutomatic(args) ? 1 : args.Int("ratio");
  if (channels != 0 && channels != 1 && channels != 3) {
    throw Error(ErrorKind::kInvalidArgument, "decode_jpeg: channels must be 0, 1 or 3, got {}",
                channels);
  }
  if (ratio != 1 && ratio != 2 && ratio != 4 && ratio != 8) {
    throw Error(ErrorKind::kInvalidArgument,
                "decode_jpeg: ratio must be 1, 2, 4, 8 or 'auto', got {}", ratio);
  }
  options.channels = static_cast<int>(channels);
  options.ratio = static_cast<int>(ratio);
  const std::string& method = args.Text("dct_method");
  // As in TensorFlow, the default is the fast one.
  options.accurate_idct = method == "INTEGER_ACCURATE";
  if (!options.accurate_idct && method != "INTEGER_FAST" && !method.empty()) {
    throw Error(
        ErrorKind::kInvalidArgument,
        "decode_jpeg: dct_method must be '', 'INTEGER_FAST' or 'INTEGER_ACCURATE', got '{}'",
        method);
  }
  return options;
}

class DecodeJpegOp final : public RegionOp {
 public:
  explicit DecodeJpegOp(const Args& args)
      : options_(OptionsOf(args)),
        automatic_(IsAutomatic(args)),
        max_pixels_(args.IntAtLeast("max_pixels", 1, kMaxPixels)) {}

  bool reduces() const override { return automatic_; }

  Unmade Open(const std::vector<Tensor>& inputs, RandomKey) const override {
    CheckInputs("decode_jpeg", inputs, 1, 2);
    std::string_view contents = kJpegContents.String(inputs[0]);
    JpegHeader header = ReadJpegHeader("decode_jpeg", contents);
    CheckSize(header, contents.size());
    const Region whole = WholeOf(header, options_.ratio), image = RegionOf(whole, inputs);
    JpegOptions options = options_;
    options.channels = ChannelsOf(header);
    Unmade made{{DType::Of(TypeCode::kUInt8), {image.height, image.width, options.channels}}};
    made.begin = [=](const Region& region) {
      return DecodeJpeg(contents, options, whole, Within(image, region));
    };
    if (automatic_) {
      made.reduce = [=](const Region& region, int64_t ratio) {
        return Reduce(contents, options, header, Within(image, region), ratio);
      };
    }
    return made;
  }

 private:
  // The pixels of the image at 1 / ratio of its size that cover `part`.
  static Reduced Reduce(std::string_view contents, JpegOptions options, const JpegHeader& header,
                        const Region& part, int64_t ratio) {
    options.ratio = static_cast<int>(ratio);
    const Region whole = WholeOf(header, ratio);
    Region touched{part.y / ratio, part.x / ratio, 0, 0};
    touched.height = (part.y + part.height + ratio - 1) / ratio - touched.y;
    touched.width = (part.x + part.width + ratio - 1) / ratio - touched.x;
    auto pixels = [ratio](int64_t count) {
      return static_cast<double>(count) / static_cast<double>(ratio);
    };
    const Box box{pixels(part.y - ratio * touched.y), pixels(part.x - ratio * touched.x),
                  pixels(part.height), pixels(part.width)};
    return {{DType::Of(TypeCode::kUInt8), {touched.height, touched.width, options.channels}},
            DecodeJpeg(contents, options, whole, touched),
            box};
  }

  // Refuses a size that this image cannot have, before memory is allocated for it.
  void CheckSize(const JpegHeader& header, size_t bytes) const {
    CheckPixels("decode_jpeg", header.height, header.width, max_pixels_);
    int64_t blocks =
        ((header.height + kBlock - 1) / kBlock) * ((header.width + kBlock - 1) / kBlock);
    bool must_be_whole = !options_.recover_truncated && options_.acceptable_fraction >= 1;
    // A block takes at least a bit; sampling factors may omit half of the blocks.
    if (must_be_whole && header.huffman && blocks > 16 * static_cast<int64_t>(bytes)) {
      throw Error(ErrorKind::kData,
                  "decode_jpeg: contents are truncated or corrupt: the header says {} x {} pixels, "
                  "too many for {} bytes",
                  header.width, header.height, bytes);
    }
  }

  int ChannelsOf(const JpegHeader& header) const {
    if (header.components != 1 && header.components != 3 && header.components != 4) {
      throw Error(ErrorKind::kData,
                  "decode_jpeg: contents must have 1, 3 or 4 colour components, got {}",
                  header.components);
    }
    if (options_.channels) return options_.channels;
    return header.components == 1 ? 1 : 3;
  }

  static Region WholeOf(const JpegHeader& header, int64_t ratio) {
    return {0, 0, (header.height + ratio - 1) / ratio, (header.width + ratio - 1) / ratio};
  }

  static Region RegionOf(const Region& whole, const std::vector<Tensor>& inputs) {
    if (inputs.size() < 2) return whole;
    int64_t height = whole.height, width = whole.width;
    std::vector<int64_t> crop = kCropWindow.Integers(inputs[1], 4);
    Region window{crop[0], crop[1], crop[2], crop[3]};
    bool inside = window.y >= 0 && window.x >= 0 && window.height > 0 && window.width > 0 &&
                  window.height <= height - window.y && window.width <= width - window.x;
    if (!inside) {
      throw Error(ErrorKind::kInvalidArgument,
                  "decode_jpeg: crop_window (y, x, height, width) must lie within the image of {} "
                  "rows and {} columns, got ({}, {}, {}, {})",
                  height, width, window.y, window.x, window.height, window.width);
    }
    return window;
  }

  JpegOptions options_;
  bool automatic_;
  int64_t max_pixels_;
};
const RegisterOp image_decode_jpeg_op("image.decode_jpeg", NewOp<DecodeJpegOp>);
#else
std::unique_ptr<const Op> MissingJpegDecoder(const Args&) {
  throw MissingCodec("decode_jpeg", "libjpeg", "libjpeg62-turbo-dev");
}

const RegisterOp image_decode_jpeg_op("image.decode_jpeg", MissingJpegDecoder);
#endif

}  // namespace
}  // namespace penstock
