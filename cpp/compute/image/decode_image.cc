// image.decode_image: a JPEG or PNG, by its first bytes, as an array of a number type.
#include <algorithm>
#include <optional>

#include "compute/image/image_conversion.h"
#include "compute/image/image_file.h"
#include "compute/image/jpeg_header.h"
#include "compute/image/png_header.h"
#include "compute/new_op.h"
#include "compute/operand.h"
#include "compute/real_types.h"

namespace penstock {
namespace {

constexpr Operand kImageContents{"decode_image", "contents"};

// The operation for one kind of file, and the type that its values are taken through. One that
// cannot be made (there is no codec; or as many channels are not for it) says so when it is needed.
struct Decoder {
  std::unique_ptr<const Op> op;
  std::optional<Error> missing;
  DType dtype;

  Decoder(const char* name, const Args& args, DType made) : dtype(made) {
    try {
      op = MakeOp(name, args);
    } catch (const Error& error) {
      missing = error;
    }
  }
};

DType DtypeOf(const Args& args) {
  DType dtype = TypeNamed("decode_image", "dtype", args.Text("dtype"));
  if (!IsInteger(dtype.code) && !IsFloating(dtype.code)) {
    throw Error(ErrorKind::kType, "decode_image: dtype must be an integer or float type, got {}",
                dtype.name());
  }
  return dtype;
}

// uint8, and uint16 of a PNG for any type but uint8.
Args WithDefaults(Args args, const char* png_dtype) {
  args.Set("fancy_upscaling", true);
  args.Set("try_recover_truncated", false);
  args.Set("acceptable_fraction", 1.0);
  args.Set("dct_method", std::string());
  args.Set("dtype", std::string(png_dtype));
  return args;
}

// The rows of a decoder, of which each value becomes one of another type.
class ConvertedRows final : public Rows {
 public:
  ConvertedRows(std::unique_ptr<Rows> rows, DType made) : rows_(std::move(rows)), made_(made) {}

  void Next(Tensor& out) override {
    Tensor image = Tensor::Make(made_, out.shape());
    rows_->Next(image);
    const TypeCode to = out.dtype().code;
    if (to == TypeCode::kFloat16) {
      image = Converted(image, TypeCode::kFloat32);  // it has no 65535
    } else if (to != TypeCode::kUInt16 && to != TypeCode::kFloat32) {
      image = Converted(image, TypeCode::kUInt16);  // TensorFlow takes a JPEG this way too
    }
    Convert(image, out);
  }

 private:
  static Tensor Converted(const Tensor& image, TypeCode to) {
    Tensor converted = Tensor::Make(DType::Of(to), image.shape());
    Convert(image, converted);
    return converted;
  }
  static void Convert(const Tensor& from, Tensor& to) {
    ImageConversion::Scaled(from.dtype().code, to.dtype().code, false)
        .Run(from.data(), to.mutable_data(), static_cast<size_t>(to.elements()));
  }

  const std::unique_ptr<Rows> rows_;
  const DType made_;
};

class DecodeImage final : public RegionOp {
 public:
  explicit DecodeImage(const Args& args)
      : dtype_(DtypeOf(args)),
        jpeg_("image.decode_jpeg", WithDefaults(args, "uint8"), DType::Of(TypeCode::kUInt8)),
        png_("image.decode_png",
             WithDefaults(args, dtype_.code == TypeCode::kUInt8 ? "uint8" : "uint16"),
             DType::Of(dtype_.code == TypeCode::kUInt8 ? TypeCode::kUInt8 : TypeCode::kUInt16)) {
    int64_t channels = args.Int("channels");
    if (channels != 0 && channels != 1 && channels != 3 && channels != 4) {
      throw Error(ErrorKind::kInvalidArgument,
                  "decode_image: channels must be 0, 1, 3 or 4, got {}", channels);
    }
  }

  bool reduces() const override { return jpeg_.op && jpeg_.op->regions()->reduces(); }

  Unmade Open(const std::vector<Tensor>& inputs, RandomKey key) const override {
    CheckInputs("decode_image", inputs, 1);
    const Decoder& decoder = DecoderOf(kImageContents.String(inputs[0]));
    Unmade image = decoder.op->regions()->Open(inputs, key);
    if (decoder.dtype == dtype_) return image;
    const Shape& shape = image.spec.shape;
    const int64_t widest = shape[1] * shape[2] * std::max(decoder.dtype.itemsize, dtype_.itemsize);
    auto begin = [made = decoder.dtype, begin = std::move(image.begin)](const Region& region) {
      return std::make_unique<ConvertedRows>(begin(region), made);
    };
    Unmade converted{{dtype_, shape}, std::move(begin), nullptr, widest};
    if (image.reduce) {
      converted.reduce = [this, made = decoder.dtype, reduce = std::move(image.reduce)](
                             const Region& region, int64_t ratio) {
        Reduced part = reduce(region, ratio);
        part.spec.dtype = dtype_;
        part.rows = std::make_unique<ConvertedRows>(std::move(part.rows), made);
        return part;
      };
    }
    return converted;
  }

 private:
  const Decoder& DecoderOf(std::string_view contents) const {
    bool jpeg = StartsAsJpeg(contents);
    if (!jpeg && !StartsAsPng(contents)) {
      ThrowNoSuchFile("decode_image",
                      "a JPEG or PNG (a GIF, BMP or WebP only outside of native functions)",
                      contents);
    }
    const Decoder& decoder = jpeg ? jpeg_ : png_;
    if (decoder.missing) throw Error(*decoder.missing);
    return decoder;
  }

  const DType dtype_;
  const Decoder jpeg_, png_;
};

const RegisterOp image_decode_image_op("image.decode_image", NewOp<DecodeImage>);

}  // namespace
}  // namespace penstock
