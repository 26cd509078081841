// Wraps libpng: its errors become exceptions, and its warnings are never printed.
#if defined(PENSTOCK_HAS_PNG)
#include "compute/image/png_decoder.h"

#include <bit>
#include <vector>

#include "compute/image/libpng.h"
#include "data/error.h"

namespace penstock {
namespace {

// Luminance of 8 or 16 bits, rounded as libpng does; alpha is kept if there is any.
template <typename Value>
void ToGray(const Value* from, int64_t pixels, bool alpha, Value* to) {
  constexpr uint32_t kRed = 9798, kGreen = 19235, kBlue = 3735;  // in units of 1 / 2^15
  constexpr uint32_t kRound = sizeof(Value) == 2 ? 1 << 14 : 0;
  for (; pixels > 0; --pixels, from += 3 + alpha, to += 1 + alpha) {
    to[0] =
        static_cast<Value>((kRed * from[0] + kGreen * from[1] + kBlue * from[2] + kRound) >> 15);
    if (alpha) to[1] = from[3];
  }
}

class Reader final : public Rows {
 public:
  Reader(std::string_view contents, const PngHeader& header, const PngOptions& options,
         const Region& region)
      : contents_(contents), header_(header), options_(options), region_(region) {}
  ~Reader() override { png_destroy_read_struct(&png_, &info_, nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  void Next(Tensor& out) override {
    if (!png_) Begin();
    first_ = end_;
    end_ += out.shape()[0];
    out_ = out.mutable_data();
    if (!header_.interlaced) {
      if (!ReadRows()) Throw();
      return;
    }
    for (int64_t y = first_; y < end_; ++y) {
      Emit(rows_.data() + static_cast<size_t>(region_.y + y) * row_bytes_, y);
    }
  }

 private:
  static void OnRead(png_structp png, png_bytep to, size_t count) {
    Reader& self = *static_cast<Reader*>(png_get_io_ptr(png));
    if (count > self.contents_.size() - self.at_) {
      self.truncated_ = true;
      png_error(png, "truncated");
    }
    std::memcpy(to, self.contents_.data() + self.at_, count);
    self.at_ += count;
  }

  void Begin() {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &errors_, PngErrors::OnError,
                                  PngErrors::OnWarning);
    if (png_) info_ = png_create_info_struct(png_);
    if (!info_) throw Error(ErrorKind::kMemory, "decode_png: no memory for the decoder");
    if (!Prepare()) Throw();
    rows_.resize(row_bytes_ * static_cast<size_t>(header_.interlaced ? header_.height : 1));
    if (header_.interlaced && !ReadAllPasses()) Throw();
  }

  // False after an error, here and below.
  bool Prepare() {
    if (setjmp(errors_.escape)) return false;
    png_set_read_fn(png_, this, OnRead);
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    SkipText();
    png_read_info(png_, info_);
    if (png_get_image_height(png_, info_) != static_cast<png_uint_32>(header_.height) ||
        png_get_image_width(png_, info_) != static_cast<png_uint_32>(header_.width)) {
      png_error(png_, "another size");
    }
    SetTransforms();
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    row_bytes_ = png_get_rowbytes(png_, info_);
    int expected = to_gray_ ? options_.channels + 2 : options_.channels;
    if (png_get_channels(png_, info_) != expected ||
        png_get_bit_depth(png_, info_) != options_.bits) {
      png_error(png_, "unsupported kind of pixels");
    }
    return true;
  }

  // Unused chunks must not cost anything either: a text may expand to megabytes.
  void SkipText() {
    static constexpr png_byte kNames[] = "iCCP\0iTXt\0tEXt\0zTXt\0eXIf";
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, kNames, 5);
  }

  void SetTransforms() {
    int type = png_get_color_type(png_, info_), depth = png_get_bit_depth(png_, info_);
    bool transparent = png_get_valid(png_, info_, PNG_INFO_tRNS) != 0;
    bool wants_alpha = options_.channels % 2 == 0;
    if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
    if (type == PNG_COLOR_TYPE_GRAY && depth < 8) png_set_expand_gray_1_2_4_to_8(png_);
    if (options_.bits == 8) png_set_strip_16(png_);
    if (options_.bits == 16) {
      png_set_expand_16(png_);
      if (std::endian::native == std::endian::little) png_set_swap(png_);
    }
    if (!wants_alpha) {
      png_set_strip_alpha(png_);
    } else if (transparent) {
      png_set_tRNS_to_alpha(png_);
    } else if ((type & PNG_COLOR_MASK_ALPHA) == 0) {
      png_set_add_alpha(png_, options_.bits == 16 ? 0xFFFF : 0xFF, PNG_FILLER_AFTER);
    }
    bool colored = (type & PNG_COLOR_MASK_COLOR) != 0;
    if (options_.channels > 2 && !colored) png_set_gray_to_rgb(png_);
    to_gray_ = options_.channels <= 2 && colored;
  }

  bool ReadRows() {
    if (setjmp(errors_.escape)) return false;
    bool direct = !to_gray_ && region_.x == 0 && region_.width == header_.width;
    for (; row_ < region_.y + end_; ++row_) {
      bool inside = row_ >= region_.y;
      uint8_t* to = rows_.data();
      if (inside && direct) to = out_ + static_cast<size_t>(row_ - region_.y - first_) * row_bytes_;
      png_read_row(png_, to, nullptr);
      if (inside && !direct) Emit(to, row_ - region_.y);
    }
    return ReadEnd();
  }

  bool ReadAllPasses() {
    if (setjmp(errors_.escape)) return false;
    for (int pass = 0; pass < PNG_INTERLACE_ADAM7_PASSES; ++pass) {
      for (row_ = 0; row_ < header_.height; ++row_) {
        png_read_row(png_, rows_.data() + static_cast<size_t>(row_) * row_bytes_, nullptr);
      }
    }
    return ReadEnd();
  }

  // The checksums of the data follow the last row.
  bool ReadEnd() {
    if (row_ == header_.height) png_read_end(png_, nullptr);
    return true;
  }

  // Extracts row `y` of the region from a row of the image.
  void Emit(const uint8_t* row, int64_t y) {
    auto value = static_cast<size_t>(options_.bits / 8);
    size_t pixel = value * static_cast<size_t>(options_.channels);
    uint8_t* to = out_ + static_cast<size_t>((y - first_) * region_.width) * pixel;
    bool alpha = options_.channels == 2;
    if (!to_gray_) {
      std::memcpy(to, row + static_cast<size_t>(region_.x) * pixel,
                  static_cast<size_t>(region_.width) * pixel);
      return;
    }
    row += static_cast<size_t>(region_.x) * value * (alpha ? 4 : 3);
    if (value == 1) {
      ToGray(row, region_.width, alpha, to);
    } else {
      ToGray(reinterpret_cast<const uint16_t*>(row), region_.width, alpha,
             reinterpret_cast<uint16_t*>(to));
    }
  }

  [[noreturn]] void Throw() {
    if (truncated_) {
      throw Error(ErrorKind::kData,
                  "decode_png: contents are truncated: {} bytes hold {} of {} rows",
                  contents_.size(), header_.interlaced ? 0 : row_, header_.height);
    }
    throw Error(ErrorKind::kData,
                "decode_png: contents are corrupt or of an unsupported kind at byte {}: {}", at_,
                std::string_view(errors_.text));
  }

  const std::string_view contents_;
  const PngHeader header_;
  const PngOptions options_;
  const Region region_;
  uint8_t* out_ = nullptr;       // for the rows from first_ to end_
  int64_t first_ = 0, end_ = 0;  // rows of the region
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  PngErrors errors_;
  size_t at_ = 0;    // offset in the contents
  int64_t row_ = 0;  // next row of the image
  size_t row_bytes_ = 0;
  std::vector<uint8_t> rows_;  // one row, or all rows of an interlaced image
  bool to_gray_ = false;
  bool truncated_ = false;
};

}  // namespace

std::unique_ptr<Rows> DecodePng(std::string_view contents, const PngHeader& header,
                                const PngOptions& options, const Region& region) {
  return std::make_unique<Reader>(contents, header, options, region);
}

}  // namespace penstock
#endif
