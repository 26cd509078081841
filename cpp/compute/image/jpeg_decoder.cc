// Wraps libjpeg: its errors become exceptions, and its warnings are never printed.
#if defined(PENSTOCK_HAS_JPEG)
#include "compute/image/jpeg_decoder.h"

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <functional>

#include "compute/image/jpeg_colors.h"
#include "compute/image/jpeg_entropy.h"
#include "compute/image/jpeg_self_test.h"
#include "compute/image/libjpeg.h"
#include "compute/image/region.h"
#include "data/error.h"

namespace penstock {
namespace {

// A progressive file of a few kilobytes may require thousands of passes over the whole image.
constexpr int kMaxScans = 500;
constexpr int kRowsPerRead = 4;
constexpr size_t kMostBeside = 256;  // maximum bytes before the region in an in-place row

// The luma of ITU-R BT.601 in 16-bit fixed point, as in libjpeg and Pillow.
uint8_t GrayOf(const int (&rgb)[3]) {
  return static_cast<uint8_t>((19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + 32768) >> 16);
}

class Decompressor final : public Rows {
 public:
  Decompressor(std::string_view contents, const JpegOptions& options, const Region& whole,
               const Region& region)
      : contents_(contents),
        options_(options),
        whole_(whole),
        region_(region),
        all_(region.height == whole.height && region.width == whole.width),
        ours_(options.ours == JpegOurs::kAlways ||
              (options.ours == JpegOurs::kWhereQuick && OwnJpegPartsWork())) {}
  ~Decompressor() override { jpeg_destroy_decompress(&info_); }
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  void Next(Tensor& out) override {
    first_ = rows_;
    end_ = rows_ + out.shape()[0];
    out_ = out.mutable_data();
    if (!failed_) failed_ = !Attempt() || !(all_ || Sound());
    if (!failed_) return;
    all_ ? Blacken() : TakeFromAll(out);
    rows_ = end_;
  }

 private:
  // libjpeg calls these with its own struct; `client_data` points back to this object.
  static Decompressor& Of(j_common_ptr info) {
    return *static_cast<Decompressor*>(info->client_data);
  }
  static Decompressor& Of(j_decompress_ptr info) {
    return *static_cast<Decompressor*>(info->client_data);
  }
  [[noreturn]] static void OnError(j_common_ptr info) { std::longjmp(Of(info).escape_, 1); }
  static void OnWarning(j_common_ptr info, int level) {
    if (level < 0) ++info->err->num_warnings;
  }
  static void OnMessage(j_common_ptr) {}
  static void OnProgress(j_common_ptr info) {
    if (Of(info).info_.input_scan_number > kMaxScans) {
      Of(info).too_many_scans_ = true;
      std::longjmp(Of(info).escape_, 1);
    }
  }
  static void OnStart(j_decompress_ptr) {}
  static boolean OnEndOfData(j_decompress_ptr info) {
    Decompressor& self = Of(info);
    self.truncated_ = true;
    if (!self.options_.recover_truncated) ERREXIT(info, JERR_INPUT_EOF);
    static constexpr JOCTET kEndOfImage[] = {0xFF, JPEG_EOI};
    self.source_.next_input_byte = kEndOfImage;
    self.source_.bytes_in_buffer = sizeof(kEndOfImage);
    return TRUE;
  }
  static void OnSkip(j_decompress_ptr info, long count) {
    jpeg_source_mgr& source = Of(info).source_;
    size_t skipped = std::min(source.bytes_in_buffer, static_cast<size_t>(std::max(count, 0L)));
    source.next_input_byte += skipped;
    source.bytes_in_buffer -= skipped;
  }
  static void OnFinish(j_decompress_ptr) {}

  // False after an error. A longjmp may leave any function below, so none may have an object with a
  // destructor, and whatever must survive is a member.
  bool Attempt() {
    if (setjmp(escape_)) {
      PutBack();
      return false;
    }
    if (!started_) Start();
    if (direct_) {
      ReadDirectly();
    } else {
      ReadThroughRows();
    }
    return true;
  }

  // No warning so far, and no extrapolated data: the values equal those of decoding everything.
  bool Sound() const { return errors_.num_warnings == 0 && !truncated_; }

  // After an error in the whole image: blackens the remaining rows, if enough rows were decoded.
  void Blacken() {
    const double wanted = options_.acceptable_fraction * static_cast<double>(region_.height);
    if (options_.acceptable_fraction >= 1 || static_cast<double>(rows_) < wanted) Throw();
    std::memset(out_ + static_cast<size_t>(rows_ - first_) * Stride(), 0,
                static_cast<size_t>(end_ - rows_) * Stride());
  }

  // The pixels from damaged data depend on where decoding begins, so decode the whole image. The
  // rows before the damage are the same.
  void TakeFromAll(Tensor& out) {
    if (!image_.buffer()) {
      image_ = Tensor::Make(out.dtype(), {whole_.height, whole_.width, options_.channels});
      Decompressor(contents_, options_, whole_, whole_).Next(image_);
    }
    CopyRegion(image_, {region_.y + first_, region_.x, end_ - first_, region_.width}, out, 0, 0);
  }

  size_t Stride() const { return static_cast<size_t>(region_.width) * options_.channels; }

  void Start() {
    started_ = true;
    Prepare();
    jpeg_start_decompress(&info_);
    if (ours_) colors_ = ConvertColors(&info_);
    const JDIMENSION first_column = CropColumns();
    if (ours_) {
      mcus_ = DecodeEntropy(&info_, first_column, options_.ours == JpegOurs::kAlways);
    }
    if (region_.y > 0) jpeg_skip_scanlines(&info_, static_cast<JDIMENSION>(region_.y));
    direct_ = first_column == static_cast<JDIMENSION>(region_.x) &&
              info_.output_width == static_cast<JDIMENSION>(region_.width) &&
              info_.output_components == options_.channels;
    if (direct_) return;
    auto components = static_cast<size_t>(info_.output_components);
    before_ = (static_cast<size_t>(region_.x) - first_column) * components;
    row_bytes_ = static_cast<size_t>(info_.output_width) * components;
    beside_rows_ = info_.mem->alloc_sarray(reinterpret_cast<j_common_ptr>(&info_), JPOOL_IMAGE,
                                           static_cast<JDIMENSION>(row_bytes_), kRowsPerRead);
  }

  void Prepare() {
    info_.err = jpeg_std_error(&errors_);
    errors_.error_exit = OnError;
    errors_.emit_message = OnWarning;
    errors_.output_message = OnMessage;
    info_.client_data = this;
    jpeg_create_decompress(&info_);
    progress_.progress_monitor = OnProgress;
    info_.progress = &progress_;
    source_.init_source = OnStart;
    source_.fill_input_buffer = OnEndOfData;
    source_.skip_input_data = OnSkip;
    source_.resync_to_restart = jpeg_resync_to_restart;
    source_.term_source = OnFinish;
    source_.next_input_byte = reinterpret_cast<const JOCTET*>(contents_.data());
    source_.bytes_in_buffer = contents_.size();
    info_.src = &source_;
    jpeg_read_header(&info_, TRUE);

    bool cmyk = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
    info_.out_color_space = cmyk ? JCS_CMYK : options_.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    info_.scale_num = 1;
    info_.scale_denom = static_cast<unsigned>(options_.ratio);
    info_.do_fancy_upsampling = options_.fancy_upscaling ? TRUE : FALSE;
    info_.dct_method = options_.accurate_idct ? JDCT_ISLOW : JDCT_IFAST;
    jpeg_calc_output_dimensions(&info_);
    if (region_.x + region_.width > static_cast<int64_t>(info_.output_width) ||
        region_.y + region_.height > static_cast<int64_t>(info_.output_height)) {
      ERREXIT(&info_, JERR_SOF_DUPLICATE);  // a second frame header of another size
    }
  }

  // Limits decoding to the blocks around the region; returns the first decoded column.
  JDIMENSION CropColumns() {
    // Colour interpolation reads neighbours, and treats the edges of the decoded part as edges of
    // the image: two more columns on each side keep the region exact.
    constexpr int64_t kMargin = 3;
    int64_t begin = std::max<int64_t>(region_.x - kMargin, 0);
    int64_t end = std::min<int64_t>(region_.x + region_.width + kMargin, info_.output_width);
    if (end - begin == info_.output_width || !CanCropColumns()) return 0;
    auto first = static_cast<JDIMENSION>(begin), width = static_cast<JDIMENSION>(end - begin);
    jpeg_crop_scanline(&info_, &first, &width);
    return first;
  }

  bool CanCropColumns() const {
    for (int i = 0; i < info_.num_components; ++i) {
      // Blocks with missing coefficients are smoothed using their neighbours.
      if (info_.coef_bits && std::ranges::any_of(info_.coef_bits[i], std::identity())) return false;
      // libjpeg-turbo before 3.0 reads uninitialised memory for other sampling factors.
      if (info_.comp_info[i].h_samp_factor > 2 || info_.comp_info[i].v_samp_factor > 2) {
        return false;
      }
    }
    return true;
  }

  void ReadDirectly() {
    while (rows_ < end_) {
      JSAMPROW rows[kRowsPerRead];
      int64_t count = std::min<int64_t>(kRowsPerRead, end_ - rows_);
      for (int64_t i = 0; i < count; ++i) rows[i] = out_ + (rows_ - first_ + i) * Stride();
      rows_ += jpeg_read_scanlines(&info_, rows, static_cast<JDIMENSION>(count));
    }
  }

  // For rows that include some columns before the region, and perhaps some after it.
  void ReadThroughRows() {
    bool in_place = info_.out_color_space != JCS_CMYK && before_ <= kMostBeside;
    while (rows_ < end_) {
      if (in_place && ReadInPlace()) continue;
      auto wanted = std::min<int64_t>(kRowsPerRead, end_ - rows_);
      JDIMENSION count = jpeg_read_scanlines(&info_, beside_rows_, static_cast<JDIMENSION>(wanted));
      for (JDIMENSION i = 0; i < count; ++i, ++rows_) Store(beside_rows_[i] + before_);
    }
  }

  // Reads a row to its final place. Pixels before the region overwrite the end of the previous row,
  // which is then restored; pixels after the region are overwritten by the next row. False if this
  // would write outside the image.
  bool ReadInPlace() {
    size_t at = static_cast<size_t>(rows_ - first_) * Stride();
    size_t size = static_cast<size_t>(end_ - first_) * Stride();
    if (at < before_ || at - before_ + row_bytes_ > size) return false;
    beside_ = out_ + at - before_;
    beside_size_ = before_;
    std::memcpy(kept_, beside_, before_);
    JSAMPROW row = beside_;
    rows_ += jpeg_read_scanlines(&info_, &row, 1);
    PutBack();
    return true;
  }
  void PutBack() {
    if (beside_size_ > 0) std::memcpy(beside_, kept_, beside_size_);
    beside_size_ = 0;
  }

  void Store(const JSAMPLE* pixels) {
    uint8_t* to = out_ + (rows_ - first_) * Stride();
    if (info_.out_color_space != JCS_CMYK) {
      std::memcpy(to, pixels, Stride());
      return;
    }
    for (int64_t i = 0; i < region_.width; ++i, pixels += 4) {
      // Adobe's files store inverted values.
      int black = info_.saw_Adobe_marker ? pixels[3] : 255 - pixels[3];
      int rgb[3];
      for (int c = 0; c < 3; ++c) {
        int ink = info_.saw_Adobe_marker ? pixels[c] : 255 - pixels[c];
        rgb[c] = black * ink / 255;
      }
      if (options_.channels == 1) {
        *to++ = GrayOf(rgb);
      } else {
        to = std::copy(rgb, rgb + 3, to);
      }
    }
  }

  [[noreturn]] void Throw() {
    if (truncated_) {
      throw Error(ErrorKind::kData,
                  "decode_jpeg: contents are truncated or corrupt: {} bytes hold {} of {} rows; "
                  "try_recover_truncated=True takes what is there",
                  contents_.size(), rows_, region_.height);
    }
    if (too_many_scans_) {
      throw Error(ErrorKind::kData, "decode_jpeg: contents are corrupt: more than {} scans",
                  kMaxScans);
    }
    char text[JMSG_LENGTH_MAX];
    errors_.format_message(reinterpret_cast<j_common_ptr>(&info_), text);
    bool memory = errors_.msg_code == JERR_OUT_OF_MEMORY;
    throw Error(memory ? ErrorKind::kMemory : ErrorKind::kData, "decode_jpeg: contents are {}: {}",
                std::string_view(memory ? "too large" : "corrupt or of an unsupported kind"),
                std::string_view(text));
  }

  const std::string_view contents_;
  const JpegOptions options_;
  const Region whole_, region_;
  const bool all_;               // `whole_` equals `region_`
  const bool ours_;              // our parts may replace those of libjpeg
  uint8_t* out_ = nullptr;       // for the rows from first_ to end_
  int64_t first_ = 0, end_ = 0;  // rows of the region
  int64_t rows_ = 0;             // finished rows of the region
  bool started_ = false;
  bool direct_ = false;  // rows need no further processing; otherwise:
  size_t before_ = 0;    // bytes of a row before the region
  size_t row_bytes_ = 0;
  JSAMPARRAY beside_rows_ = nullptr;
  uint8_t* beside_ = nullptr;  // where the row being read begins, before the region
  size_t beside_size_ = 0;
  uint8_t kept_[kMostBeside];  // the bytes it overwrote
  bool failed_ = false;        // at the row rows_
  Tensor image_;               // the whole image, decoded once a region was found to be damaged
  bool truncated_ = false;
  bool too_many_scans_ = false;
  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  jpeg_source_mgr source_{};
  // What info_ calls, if it is not libjpeg's own:
  std::unique_ptr<JpegMcus> mcus_;
  std::unique_ptr<JpegColors> colors_;
  std::jmp_buf escape_;
};

}  // namespace

std::unique_ptr<Rows> DecodeJpeg(std::string_view contents, const JpegOptions& options,
                                 const Region& whole, const Region& region) {
  return std::make_unique<Decompressor>(contents, options, whole, region);
}

}  // namespace penstock
#endif
