// image.encode_png: encodes images of uint8 or uint16 as PNG files.
#include <bit>
#include <cstdlib>
#include <memory>

#include "compute/image/missing_codec.h"
#include "compute/new_op.h"
#include "compute/operand.h"
#if defined(PENSTOCK_HAS_PNG)
#include "compute/image/libpng.h"
#endif

namespace penstock {
namespace {

#if defined(PENSTOCK_HAS_PNG)
constexpr Operand kPngImage{"encode_png", "image"};

struct Picture {
  const uint8_t* data;
  int64_t height, width, channels;
  size_t value;  // in bytes
};

class Writer {
 public:
  Writer(const Picture& picture, int compression) : picture_(picture), compression_(compression) {}
  ~Writer() {
    png_destroy_write_struct(&png_, &info_);
    std::free(bytes_);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  std::string_view Encode() {
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, &errors_, PngErrors::OnError,
                                   PngErrors::OnWarning);
    if (png_) info_ = png_create_info_struct(png_);
    if (!info_ || !Write()) {
      throw Error(ErrorKind::kMemory, "encode_png: image could not be encoded: {}",
                  std::string_view(errors_.text));
    }
    return {reinterpret_cast<const char*>(bytes_), size_};
  }

 private:
  // No exception may pass through libpng.
  static void OnWrite(png_structp png, png_bytep from, size_t count) {
    Writer& self = *static_cast<Writer*>(png_get_io_ptr(png));
    if (count > self.capacity_ - self.size_) {
      size_t capacity = 2 * self.capacity_ + count + 4096;
      void* bytes = std::realloc(self.bytes_, capacity);
      if (!bytes) png_error(png, "no memory");
      self.bytes_ = static_cast<uint8_t*>(bytes);
      self.capacity_ = capacity;
    }
    std::memcpy(self.bytes_ + self.size_, from, count);
    self.size_ += count;
  }
  static void OnFlush(png_structp) {}

  // False after an error.
  bool Write() {
    if (setjmp(errors_.escape)) return false;
    constexpr int kTypes[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                              PNG_COLOR_TYPE_RGB_ALPHA};
    png_set_write_fn(png_, this, OnWrite, OnFlush);
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_compression_level(png_, compression_);
    png_set_IHDR(png_, info_, static_cast<png_uint_32>(picture_.width),
                 static_cast<png_uint_32>(picture_.height), static_cast<int>(8 * picture_.value),
                 kTypes[picture_.channels - 1], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png_, info_);
    if (picture_.value == 2 && std::endian::native == std::endian::little) png_set_swap(png_);
    size_t row = static_cast<size_t>(picture_.width * picture_.channels) * picture_.value;
    for (int64_t y = 0; y < picture_.height; ++y) {
      png_write_row(png_, picture_.data + static_cast<size_t>(y) * row);
    }
    png_write_end(png_, nullptr);
    return true;
  }

  const Picture picture_;
  const int compression_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  PngErrors errors_;
  uint8_t* bytes_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

class EncodePng final : public Op {
 public:
  explicit EncodePng(const Args& args) : compression_(args.Int("compression")) {
    if (compression_ < -1 || compression_ > 9) {
      throw Error(ErrorKind::kInvalidArgument,
                  "encode_png: compression must be from -1 to 9, got {}", compression_);
    }
  }

  std::vector<Tensor> Call(const std::vector<Tensor>& inputs, RandomKey) const override {
    CheckInputs("encode_png", inputs, 1);
    const Tensor& images = inputs[0];
    Check(images);
    const Shape& shape = images.shape();
    int first = shape.rank() - 3;
    Picture picture{images.data(), shape[first], shape[first + 1], shape[first + 2],
                    images.dtype().itemsize};
    if (first == 0) {
      Writer writer(picture, static_cast<int>(compression_));
      return {Tensor::String(TypeCode::kBytes, writer.Encode())};
    }
    Shape leading(shape.dims().data(), static_cast<size_t>(first));
    std::vector<std::string> files;
    for (int64_t i = 0; i < leading.elements(); ++i) {
      files.emplace_back(Writer(picture, static_cast<int>(compression_)).Encode());
      picture.data +=
          static_cast<size_t>(picture.height * picture.width * picture.channels) * picture.value;
    }
    std::vector<std::string_view> views(files.begin(), files.end());
    return {Tensor::Strings(TypeCode::kBytes, leading, views)};
  }

 private:
  static void Check(const Tensor& images) {
    TypeCode code = images.dtype().code;
    if (code != TypeCode::kUInt8 && code != TypeCode::kUInt16) {
      throw Error(ErrorKind::kType,
                  "encode_png: image must be of uint8 or uint16, got {}; convert it with "
                  "ps.image.convert_image_dtype(image, np.uint8)",
                  images.dtype().name());
    }
    const Shape& shape = images.shape();
    bool right = shape.rank() >= 3;
    for (int axis = std::max(shape.rank() - 3, 0); right && axis < shape.rank(); ++axis) {
      right = shape[axis] > 0 && shape[axis] <= PNG_UINT_31_MAX;
    }
    if (!right || shape[shape.rank() - 1] > 4) {
      throw Error(
          ErrorKind::kInvalidArgument,
          "encode_png: image must have shape (..., height, width, channels) with pixels, of "
          "1 to 4 channels, got {}",
          shape.ToString());
    }
  }

  const int64_t compression_;
};

const RegisterOp image_encode_png_op("image.encode_png", NewOp<EncodePng>);
#else
std::unique_ptr<const Op> MissingPngEncoder(const Args&) {
  throw MissingCodec("encode_png", "libpng", "libpng-dev");
}

const RegisterOp image_encode_png_op("image.encode_png", MissingPngEncoder);
#endif

}  // namespace
}  // namespace penstock
