// image.decode_image: decodes an image file, recognised by its first bytes, to an array of a number
// type. JPEG and PNG are decoded here, GIF, BMP and WebP by the foreign runtime.
#include <algorithm>

#include "compute/image/image_conversion.h"
#include "compute/image/image_file.h"
#include "compute/image/jpeg_header.h"
#include "compute/image/png_header.h"
#include "compute/new_op.h"
#include "compute/operand.h"
#include "compute/real_types.h"
#include "data/foreign.h"

namespace penstock {
namespace {

constexpr Operand kImageContents{"decode_image", "contents"};

// The operation for one kind of file, and the type of its values. Null if its codec is missing.
struct Decoder {
  std::unique_ptr<const Op> op;
  DType dtype;

  Decoder(const char* name, const Args& args, DType made) : dtype(made) {
    try {
      op = MakeOp(name, args);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kRuntime) throw;
    }
  }
};

int64_t ChannelsOf(const Args& args) {
  const int64_t channels = args.Int("channels");
  if (channels == 0 || channels == 1 || channels == 3 || channels == 4) return channels;
  throw Error(ErrorKind::kInvalidArgument, "decode_image: channels must be 0, 1, 3 or 4, got {}",
              channels);
}

DType DtypeOf(const Args& args) {
  DType dtype = TypeNamed("decode_image", "dtype", args.Text("dtype"));
  if (!IsInteger(dtype.code) && !IsFloating(dtype.code)) {
    throw Error(ErrorKind::kType, "decode_image: dtype must be an integer or float type, got {}",
                dtype.name());
  }
  return dtype;
}

// Decodes to uint8, but PNG to uint16 for any type other than uint8.
Args WithDefaults(Args args, std::string png_dtype) {
  args.Set("fancy_upscaling", true);
  args.Set("try_recover_truncated", false);
  args.Set("acceptable_fraction", 1.0);
  args.Set("dct_method", std::string());
  args.Set("dtype", std::move(png_dtype));
  return args;
}

// A JPEG has no alpha channel, which is added later.
Args WithoutAlpha(Args args) {
  if (args.Int("channels") == 4) args.Set("channels", int64_t{3});
  return args;
}

// Converts all values through the same intermediate types as TensorFlow.
void Convert(const Tensor& from, Tensor& to) {
  auto scale = [](const Tensor& image, Tensor& made) {
    ImageConversion::Scaled(image.dtype().code, made.dtype().code, false)
        .Run(image.data(), made.mutable_data(), static_cast<size_t>(made.elements()));
  };
  const TypeCode code = to.dtype().code;
  if (code == TypeCode::kUInt16 || code == TypeCode::kFloat32) return scale(from, to);
  // float16 cannot represent 65535; TensorFlow also converts a JPEG through uint16.
  const TypeCode middle = code == TypeCode::kFloat16 ? TypeCode::kFloat32 : TypeCode::kUInt16;
  Tensor between = Tensor::Make(DType::Of(middle), from.shape());
  scale(from, between);
  scale(between, to);
}

// Converts each value of a decoder's rows to another type.
class ConvertedRows final : public Rows {
 public:
  ConvertedRows(std::unique_ptr<Rows> rows, DType made) : rows_(std::move(rows)), made_(made) {}

  void Next(Tensor& out) override {
    Tensor image = Tensor::Make(made_, out.shape());
    rows_->Next(image);
    Convert(image, out);
  }

 private:
  const std::unique_ptr<Rows> rows_;
  const DType made_;
};

// Rows of RGB with an opaque alpha channel, uint8.
class OpaqueRows final : public Rows {
 public:
  explicit OpaqueRows(std::unique_ptr<Rows> rows) : rows_(std::move(rows)) {}

  void Next(Tensor& out) override {
    const Shape& shape = out.shape();
    Tensor image = Tensor::Make(out.dtype(), {shape[0], shape[1], 3});
    rows_->Next(image);
    const uint8_t* from = image.data();
    uint8_t* to = out.mutable_data();
    for (int64_t i = shape[0] * shape[1]; i > 0; --i, from += 3, to += 4) {
      std::copy_n(from, 3, to);
      to[3] = 255;
    }
  }

 private:
  const std::unique_ptr<Rows> rows_;
};

// An image with each of its rows wrapped by `wrap`, with another last axis or dtype.
template <typename Wrap>
Unmade Wrapped(Unmade image, DType dtype, int64_t channels, int64_t itemsize, Wrap wrap) {
  LeafSpec spec = image.spec;
  spec.dtype = dtype;
  spec.shape[2] = channels;
  const int64_t widest = std::max(image.widest, spec.shape[1] * channels * itemsize);
  Unmade made{std::move(spec), nullptr, nullptr, widest};
  made.begin = [wrap, begin = std::move(image.begin)](const Region& region) {
    return wrap(begin(region));
  };
  if (image.reduce) {
    made.reduce = [=, reduce = std::move(image.reduce)](const Region& region, int64_t ratio) {
      Reduced part = reduce(region, ratio);
      part.spec.dtype = dtype;
      part.spec.shape[2] = channels;
      part.rows = wrap(std::move(part.rows));
      return part;
    };
  }
  return made;
}

class DecodeImage final : public RegionOp {
 public:
  explicit DecodeImage(const Args& args)
      : dtype_(DtypeOf(args)),
        channels_(ChannelsOf(args)),
        animations_(args.Bool("expand_animations")),
        max_pixels_(args.IntAtLeast("max_pixels", 1, kMaxPixels)),
        jpeg_("image.decode_jpeg", WithoutAlpha(WithDefaults(args, "uint8")),
              DType::Of(TypeCode::kUInt8)),
        png_("image.decode_png", WithDefaults(args, ByteOrWide().name()), ByteOrWide()) {}

  bool reduces() const override { return jpeg_.op && jpeg_.op->regions()->reduces(); }

  Unmade Open(const std::vector<Tensor>& inputs, RandomKey key) const override {
    CheckInputs("decode_image", inputs, 1);
    const std::string_view contents = kImageContents.String(inputs[0]);
    const bool jpeg = StartsAsJpeg(contents);
    const bool native = jpeg || StartsAsPng(contents);
    const Decoder& decoder = jpeg ? jpeg_ : png_;
    if (!native || !decoder.op) return OpenForeign(contents, native);
    Unmade image = decoder.op->regions()->Open(inputs, key);
    if (jpeg && channels_ == 4) {
      image = Wrapped(std::move(image), decoder.dtype, 4, 1, [](std::unique_ptr<Rows> rows) {
        return std::make_unique<OpaqueRows>(std::move(rows));
      });
    }
    if (decoder.dtype == dtype_) return image;
    const int64_t widest = std::max(decoder.dtype.itemsize, dtype_.itemsize);
    return Wrapped(std::move(image), dtype_, image.spec.shape[2], widest,
                   [made = decoder.dtype](std::unique_ptr<Rows> rows) {
                     return std::make_unique<ConvertedRows>(std::move(rows), made);
                   });
  }

 private:
  DType ByteOrWide() const {
    return DType::Of(dtype_.code == TypeCode::kUInt8 ? TypeCode::kUInt8 : TypeCode::kUInt16);
  }

  // Opens a file that the foreign runtime decodes; `native`: its codec is missing here.
  Unmade OpenForeign(std::string_view contents, bool native) const {
    const FileKind kind = KindOf(contents);
    if (!native && kind != FileKind::kGif && kind != FileKind::kBmp && kind != FileKind::kWebp) {
      ThrowNoSuchFile("decode_image", "a JPEG, PNG, GIF, BMP or WebP", contents);
    }
    const bool gif = kind == FileKind::kGif;
    const ImageFile file{"decode_image",
                         contents,
                         gif && channels_ == 0 ? 3 : channels_,
                         dtype_.code != TypeCode::kUInt8,
                         max_pixels_,
                         animations_ && (gif || kind == FileKind::kWebp)};
    ForeignRuntime& runtime = TheForeignRuntime();
    auto all = [this, file, &runtime](Tensor& out) {
      const Tensor image = runtime.DecodeImage(file);
      if (image.shape() != out.shape()) {
        throw Error(ErrorKind::kData, "decode_image: contents are corrupt: the shape is {}, not {}",
                    image.shape().ToString(), out.shape().ToString());
      }
      if (image.dtype() == out.dtype()) {
        std::copy_n(image.data(), out.footprint(), out.mutable_data());
      } else {
        Convert(image, out);
      }
    };
    return {{dtype_, runtime.ImageShape(file)}, nullptr, all};
  }

  const DType dtype_;
  const int64_t channels_;
  const bool animations_;
  const int64_t max_pixels_;
  const Decoder jpeg_, png_;
};

const RegisterOp image_decode_image_op("image.decode_image", NewOp<DecodeImage>);

}  // namespace
}  // namespace penstock
