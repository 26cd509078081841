// image.encode_jpeg: encodes an image of uint8 as a JPEG file.
#include <csetjmp>
#include <cstdlib>
#include <memory>

#include "compute/image/missing_codec.h"
#include "compute/new_op.h"
#include "compute/operand.h"
#if defined(PENSTOCK_HAS_JPEG)
#include "compute/image/libjpeg.h"
#endif

namespace penstock {
namespace {

#if defined(PENSTOCK_HAS_JPEG)
constexpr Operand kJpegImage{"encode_jpeg", "image"};
constexpr int64_t kLargestSide = 65500;  // libjpeg's limit, in pixels
// Identifies a segment as XMP (ISO 16684-1); includes the zero at its end.
constexpr char kXmpName[] = "http://ns.adobe.com/xap/1.0/";
constexpr size_t kMostXmp = 65533 - sizeof(kXmpName);

struct JpegSettings {
  int quality = 95;
  bool progressive = false, optimize_size = false, chroma_downsampling = true;
  uint8_t density_unit = 1;  // 1: per inch, 2: per centimetre
  uint16_t x_density = 300, y_density = 300;
  std::string xmp;  // preceded by its name; empty: no XMP
};

class Compressor {
 public:
  Compressor(const Tensor& image, const JpegSettings& settings)
      : image_(image), settings_(settings) {}
  ~Compressor() {
    jpeg_destroy_compress(&info_);
    std::free(bytes_);
  }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  std::string_view Encode() {
    if (!Attempt()) {
      char text[JMSG_LENGTH_MAX];
      errors_.format_message(reinterpret_cast<j_common_ptr>(&info_), text);
      bool memory = errors_.msg_code == JERR_OUT_OF_MEMORY;
      throw Error(memory ? ErrorKind::kMemory : ErrorKind::kInvalidArgument,
                  "encode_jpeg: image could not be encoded: {}", std::string_view(text));
    }
    return {reinterpret_cast<const char*>(bytes_), static_cast<size_t>(size_)};
  }

 private:
  [[noreturn]] static void OnError(j_common_ptr info) {
    std::longjmp(static_cast<Compressor*>(info->client_data)->escape_, 1);
  }
  static void OnWarning(j_common_ptr, int) {}
  static void OnMessage(j_common_ptr) {}

  // False after an error. A longjmp may leave any function below, so none may have an object with a
  // destructor.
  bool Attempt() {
    if (setjmp(escape_)) return false;
    info_.err = jpeg_std_error(&errors_);
    errors_.error_exit = OnError;
    errors_.emit_message = OnWarning;
    errors_.output_message = OnMessage;
    info_.client_data = this;
    jpeg_create_compress(&info_);
    jpeg_mem_dest(&info_, &bytes_, &size_);
    Configure();
    jpeg_start_compress(&info_, TRUE);
    if (!settings_.xmp.empty()) {
      jpeg_write_marker(&info_, JPEG_APP0 + 1,
                        reinterpret_cast<const JOCTET*>(settings_.xmp.data()),
                        static_cast<unsigned>(settings_.xmp.size()));
    }
    size_t row = size_t{info_.image_width} * static_cast<size_t>(info_.input_components);
    while (info_.next_scanline < info_.image_height) {
      JSAMPROW rows[] = {const_cast<JSAMPROW>(image_.data()) + info_.next_scanline * row};
      jpeg_write_scanlines(&info_, rows, 1);
    }
    jpeg_finish_compress(&info_);
    return true;
  }

  void Configure() {
    info_.image_height = static_cast<JDIMENSION>(image_.shape()[0]);
    info_.image_width = static_cast<JDIMENSION>(image_.shape()[1]);
    info_.input_components = static_cast<int>(image_.shape()[2]);
    info_.in_color_space = info_.input_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&info_);
    info_.density_unit = settings_.density_unit;
    info_.X_density = settings_.x_density;
    info_.Y_density = settings_.y_density;
    info_.optimize_coding = settings_.optimize_size ? TRUE : FALSE;
    jpeg_set_quality(&info_, settings_.quality, TRUE);
    if (settings_.progressive) jpeg_simple_progression(&info_);
    if (!settings_.chroma_downsampling) {
      for (int i = 0; i < info_.num_components; ++i) {
        info_.comp_info[i].h_samp_factor = info_.comp_info[i].v_samp_factor = 1;
      }
    }
  }

  const Tensor& image_;
  const JpegSettings& settings_;
  jpeg_compress_struct info_{};
  jpeg_error_mgr errors_{};
  unsigned char* bytes_ = nullptr;
  unsigned long size_ = 0;
  std::jmp_buf escape_;
};

// An attribute in [low, high].
int64_t Within(const Args& args, const char* name, int64_t low, int64_t high) {
  int64_t value = args.Int(name);
  if (value >= low && value <= high) return value;
  throw Error(ErrorKind::kInvalidArgument, "encode_jpeg: {} must be from {} to {}, got {}",
              std::string_view(name), low, high, value);
}

JpegSettings SettingsOf(const Args& args) {
  JpegSettings settings;
  settings.quality = static_cast<int>(Within(args, "quality", 0, 100));
  settings.progressive = args.Bool("progressive");
  settings.optimize_size = args.Bool("optimize_size");
  settings.chroma_downsampling = args.Bool("chroma_downsampling");
  const std::string& unit = args.Text("density_unit");
  if (unit != "in" && unit != "cm") {
    throw Error(ErrorKind::kInvalidArgument,
                "encode_jpeg: density_unit must be 'in' or 'cm', got '{}'", unit);
  }
  settings.density_unit = unit == "in" ? 1 : 2;
  settings.x_density = static_cast<uint16_t>(Within(args, "x_density", 1, 65535));
  settings.y_density = static_cast<uint16_t>(Within(args, "y_density", 1, 65535));
  const std::string& xmp = args.Text("xmp_metadata");
  if (xmp.size() > kMostXmp) {
    throw Error(ErrorKind::kInvalidArgument,
                "encode_jpeg: xmp_metadata must have at most {} bytes, got {}", kMostXmp,
                xmp.size());
  }
  if (!xmp.empty()) settings.xmp = std::string(kXmpName, sizeof(kXmpName)) + xmp;
  return settings;
}

class EncodeJpeg final : public Op {
 public:
  explicit EncodeJpeg(const Args& args)
      : settings_(SettingsOf(args)), format_(args.Text("format")) {
    if (format_ != "" && format_ != "grayscale" && format_ != "rgb") {
      throw Error(ErrorKind::kInvalidArgument,
                  "encode_jpeg: format must be '', 'grayscale' or 'rgb', got '{}'", format_);
    }
  }

  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey) const override {
    CheckInputs("encode_jpeg", inputs, 1);
    Check(inputs[0]);
    Compressor compressor(inputs[0], settings_);
    return {Tensor::String(TypeCode::kBytes, compressor.Encode())};
  }

 private:
  void Check(const Tensor& image) const {
    if (image.dtype().code != TypeCode::kUInt8) {
      throw Error(ErrorKind::kType,
                  "encode_jpeg: image must be of uint8, got {}; convert it with "
                  "ps.image.convert_image_dtype(image, np.uint8)",
                  image.dtype().name());
    }
    const Shape& shape = image.shape();
    bool gray = shape.rank() == 3 && shape[2] == 1 && format_ != "rgb";
    bool rgb = shape.rank() == 3 && shape[2] == 3 && format_ != "grayscale";
    if (!gray && !rgb) {
      throw Error(ErrorKind::kInvalidArgument,
                  "encode_jpeg: image must have shape (height, width, {}), got {}",
                  std::string_view(format_.empty()    ? "1 or 3"
                                   : format_ == "rgb" ? "3"
                                                      : "1"),
                  shape.ToString());
    }
    if (std::min(shape[0], shape[1]) < 1 || std::max(shape[0], shape[1]) > kLargestSide) {
      throw Error(ErrorKind::kInvalidArgument,
                  "encode_jpeg: image must have from 1 to {} rows and columns, got {}",
                  kLargestSide, shape.ToString());
    }
  }

  const JpegSettings settings_;
  const std::string format_;
};

const RegisterOp image_encode_jpeg_op("image.encode_jpeg", NewOp<EncodeJpeg>);
#else
std::unique_ptr<const Op> MissingJpegEncoder(const Args&) {
  throw MissingCodec("encode_jpeg", "libjpeg", "libjpeg62-turbo-dev");
}

const RegisterOp image_encode_jpeg_op("image.encode_jpeg", MissingJpegEncoder);
#endif

}  // namespace
}  // namespace penstock
