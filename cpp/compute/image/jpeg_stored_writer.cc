// Stores the coefficients of a JPEG: the most frequent ones, and pairs of them, take a byte.
#if defined(PENSTOCK_HAS_JPEG)
#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <numeric>
#include <vector>

#include "compute/image/jpeg_coefficients.h"
#include "compute/image/jpeg_entropy.h"
#include "compute/image/jpeg_header.h"
#include "storage/crc32c.h"

namespace penstock {
namespace {

constexpr double kMostGrowth = 1.6;  // of the bytes of the JPEG

// A coefficient as (zeros << 1 | last) << 16 | value, or a DC coefficient as kIsDc | difference.
using Token = uint32_t;
constexpr Token kIsDc = 1u << 31;

void AppendNumber(std::string& out, uint32_t number, size_t bytes = kStoredNumber) {
  for (size_t i = 0; i < bytes; ++i) out += static_cast<char>(number >> (8 * i));
}

// The zeros, with the mark of the last one, and the value.
void AppendCoefficient(std::string& out, Token token) {
  const uint32_t zeros = token >> 17, last = token >> 16 & 1;
  AppendNumber(out, zeros | (last ? kStoredLast : 0), 1);
  AppendNumber(out, token & 0xFFFF, 2);
}

// The coefficients of a JPEG in the order of its scan.
class TokenReader {
 public:
  explicit TokenReader(std::string_view jpeg) : jpeg_(jpeg) {}
  ~TokenReader() { jpeg_destroy_decompress(&info_); }
  TokenReader(const TokenReader&) = delete;
  TokenReader& operator=(const TokenReader&) = delete;

  // False if it is not an intact JPEG of the kind that we decode. A longjmp may leave any function
  // below: none has an object with a destructor.
  bool Read() {
    if (setjmp(escape_)) return false;
    info_.err = jpeg_std_error(&errors_);
    errors_.error_exit = OnError;
    errors_.emit_message = OnWarning;
    info_.client_data = this;
    jpeg_create_decompress(&info_);
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(jpeg_.data()), jpeg_.size());
    jpeg_read_header(&info_, TRUE);
    if (info_.progressive_mode || info_.arith_code || jpeg_has_multiple_scans(&info_)) return false;
    jpeg_start_decompress(&info_);
    header_size_ = jpeg_.size() - info_.src->bytes_in_buffer;
    mcus_ = DecodeEntropy(&info_, 0, true);
    if (!mcus_) return false;
    for (JDIMENSION row = 0; row < info_.MCU_rows_in_scan; ++row) {
      rows_.push_back(tokens_.size());
      std::fill_n(dc_, MAX_COMPS_IN_SCAN, 0);
      for (JDIMENSION i = 0; i < info_.MCUs_per_row; ++i) {
        if (!ReadMcu()) return false;
      }
    }
    return errors_.num_warnings == 0;
  }

  const std::vector<Token>& tokens() const { return tokens_; }
  const std::vector<size_t>& rows() const { return rows_; }  // where they begin
  size_t header_size() const { return header_size_; }

 private:
  [[noreturn]] static void OnError(j_common_ptr info) {
    std::longjmp(static_cast<TokenReader*>(info->client_data)->escape_, 1);
  }
  static void OnWarning(j_common_ptr info, int level) {
    if (level < 0) ++info->err->num_warnings;
  }

  // False at what is left to libjpeg, or cannot be stored.
  bool ReadMcu() {
    std::memset(blocks_, 0, sizeof(JBLOCK) * static_cast<size_t>(info_.blocks_in_MCU));
    JBLOCKROW blocks[D_MAX_BLOCKS_IN_MCU];
    for (int i = 0; i < info_.blocks_in_MCU; ++i) blocks[i] = &blocks_[i];
    McuDecoderOf(&info_)->decode_mcu(&info_, blocks);
    if (McuDecoderOf(&info_) != mcus_.get()) return false;
    for (int i = 0; i < info_.blocks_in_MCU; ++i) {
      int& dc = dc_[info_.MCU_membership[i]];
      const int difference = blocks_[i][0] - dc;
      if (difference != static_cast<int16_t>(difference)) return false;
      dc = blocks_[i][0];
      tokens_.push_back(kIsDc | static_cast<uint16_t>(difference));
      PushCoefficients(blocks_[i]);
    }
    return true;
  }

  void PushCoefficients(const JBLOCK& block) {
    uint32_t zeros = 0;
    for (size_t k = 1; k < DCTSIZE2; ++k) {
      const JCOEF value = block[kNatural[k]];
      if (value == 0) {
        ++zeros;
        continue;
      }
      tokens_.push_back(zeros << 17 | static_cast<uint16_t>(value));
      zeros = 0;
    }
    if (!(tokens_.back() & kIsDc)) tokens_.back() |= 1 << 16;
  }

  const std::string_view jpeg_;
  size_t header_size_ = 0;
  std::vector<Token> tokens_;
  std::vector<size_t> rows_;
  int dc_[MAX_COMPS_IN_SCAN];
  JBLOCK blocks_[D_MAX_BLOCKS_IN_MCU];
  std::unique_ptr<JpegMcus> mcus_;
  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  std::jmp_buf escape_;
};

// The numbers of the coefficients, and pairs of them, that are most frequent in an image.
class Steps {
 public:
  explicit Steps(const std::vector<Token>& tokens) {
    ChooseOnes(tokens);
    ChooseTwos(tokens);
  }

  // Of a step for the coefficient at that place; 0: there is none.
  uint8_t One(size_t at) const { return numbers_[at]; }
  // Of a step for it and the one after it, of the same block.
  uint8_t Two(size_t at) const { return twos_[PairOf(numbers_[at], numbers_[at + 1])]; }

  void Append(std::string& out) const {
    AppendNumber(out, static_cast<uint32_t>(chosen_.size()), 1);
    AppendNumber(out, static_cast<uint32_t>(pairs_.size()), 1);
    for (const Token one : chosen_) AppendCoefficient(out, one);
    for (const size_t pair : pairs_) {
      AppendCoefficient(out, chosen_[pair / kSide - 1]);
      AppendCoefficient(out, chosen_[pair % kSide - 1]);
    }
  }

 private:
  static constexpr size_t kMostOnes = 110, kMostTwos = kStoredMostSteps - kMostOnes;
  static constexpr size_t kSide = kMostOnes + 1;  // numbers of ones, and 0
  // What is worth its bytes in the table, once it saves some in the blocks.
  static constexpr uint32_t kLeastOnes = 2, kLeastTwos = 7;
  // Of the coefficients that are counted: zeros before it, and absolute value.
  static constexpr uint32_t kZeros = 16;
  static constexpr int kValue = 32;
  static constexpr size_t kPlaces = size_t{kZeros} * 2 * 2 * kValue;

  static bool IsNear(Token token) {
    const int value = static_cast<int16_t>(token);
    return token >> 17 < kZeros && value >= -kValue && value < kValue;
  }
  static size_t PlaceOf(Token token) {
    const int value = static_cast<int16_t>(token) + kValue;
    return (token >> 16) * 2 * kValue + static_cast<size_t>(value);
  }
  static Token TokenAt(size_t place) {
    const int value = static_cast<int>(place % (2 * kValue)) - kValue;
    return static_cast<Token>(place / (2 * kValue)) << 16 | static_cast<uint16_t>(value);
  }
  static size_t PairOf(uint8_t first, uint8_t second) { return first * kSide + second; }

  // The places of the largest counts, at most `most` and none below `least`.
  static std::vector<size_t> Largest(const std::vector<uint32_t>& counts, size_t most,
                                     uint32_t least) {
    std::vector<size_t> places(counts.size());
    std::iota(places.begin(), places.end(), size_t{0});
    std::erase_if(places, [&](size_t place) { return counts[place] < least; });
    std::ranges::stable_sort(places, [&](size_t a, size_t b) { return counts[a] > counts[b]; });
    if (places.size() > most) places.resize(most);
    return places;
  }

  void ChooseOnes(const std::vector<Token>& tokens) {
    std::vector<uint8_t> ones(kPlaces);
    std::vector<uint32_t> counts(kPlaces);
    for (const Token token : tokens) {
      if (IsNear(token)) ++counts[PlaceOf(token)];
    }
    for (const size_t place : Largest(counts, kMostOnes, kLeastOnes)) {
      chosen_.push_back(TokenAt(place));
      ones[place] = static_cast<uint8_t>(chosen_.size());
    }
    numbers_.reserve(tokens.size());
    for (const Token token : tokens) {
      numbers_.push_back(IsNear(token) ? ones[PlaceOf(token)] : uint8_t{0});
    }
  }

  void ChooseTwos(const std::vector<Token>& tokens) {
    std::vector<uint32_t> counts(twos_.size());
    uint8_t before = 0;
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (before && numbers_[i]) ++counts[PairOf(before, numbers_[i])];
      before = tokens[i] >> 16 & 1 ? uint8_t{0} : numbers_[i];
    }
    pairs_ = Largest(counts, kMostTwos, kLeastTwos);
    for (size_t i = 0; i < pairs_.size(); ++i) {
      twos_[pairs_[i]] = static_cast<uint8_t>(1 + chosen_.size() + i);
    }
  }

  std::vector<Token> chosen_;
  std::vector<size_t> pairs_;     // PairOf
  std::vector<uint8_t> numbers_;  // of all tokens
  std::vector<uint8_t> twos_ = std::vector<uint8_t>(kSide * kSide);
};

class StoredWriter {
 public:
  StoredWriter(std::string_view jpeg, const TokenReader& read)
      : jpeg_(jpeg),
        tokens_(read.tokens()),
        rows_(read.rows()),
        header_size_(read.header_size()),
        steps_(tokens_) {}

  std::string Write() {
    AppendHeader();
    steps_.Append(out_);
    AppendRows();
    AppendNumber(out_, Crc32c(out_.data(), out_.size()));
    return std::move(out_);
  }

 private:
  void AppendHeader() {
    const size_t frame_at = ReadJpegHeader("decode_jpeg", jpeg_).frame_at;
    out_ = kStoredStart;
    const size_t length = 2 + kStoredMagic.size() + 1 + 2 * kStoredNumber;
    out_ += static_cast<char>(length >> 8);
    out_ += static_cast<char>(length);
    out_ += kStoredMagic;
    out_ += jpeg_[frame_at];
    AppendNumber(out_, static_cast<uint32_t>(frame_at));
    AppendNumber(out_, static_cast<uint32_t>(header_size_));
    const size_t segments = out_.size();
    out_ += jpeg_.substr(2, header_size_ - 2);
    out_[segments + frame_at - 2] = static_cast<char>(kStoredFrame);
  }

  void AppendRows() {
    std::string blocks;
    blocks.reserve(2 * tokens_.size());
    std::vector<size_t> ends = rows_;
    ends.push_back(tokens_.size());
    size_t at = 0;
    for (const size_t end : ends) {
      while (at < end) at += AppendStep(blocks, at, end);
      AppendNumber(out_, static_cast<uint32_t>(blocks.size()));
    }
    out_ += blocks;
  }

  // Returns of how many tokens it is. A block is over at its last coefficient, or has none.
  size_t AppendStep(std::string& blocks, size_t at, size_t end) {
    const Token token = tokens_[at];
    const bool follows = at + 1 < end && !(tokens_[at + 1] & kIsDc);
    if (token & kIsDc) {
      AppendDc(blocks, static_cast<int16_t>(token));
      if (!follows) AppendNumber(blocks, 0, 1);
      return 1;
    }
    const uint8_t two = follows ? steps_.Two(at) : uint8_t{0}, one = steps_.One(at);
    if (two || one) {
      blocks.push_back(static_cast<char>(two ? two : one));
      return two ? 2 : 1;
    }
    AppendNumber(blocks, kStoredOther, 1);
    AppendCoefficient(blocks, token);
    return 1;
  }

  static void AppendDc(std::string& blocks, int difference) {
    if (difference >= -kStoredNearest && difference <= kStoredNearest) {
      AppendNumber(blocks, static_cast<uint32_t>(difference + kStoredNearest), 1);
      return;
    }
    AppendNumber(blocks, 2 * kStoredNearest + 1, 1);
    AppendNumber(blocks, static_cast<uint16_t>(difference), 2);
  }

  const std::string_view jpeg_;
  const std::vector<Token>& tokens_;
  const std::vector<size_t>& rows_;
  const size_t header_size_;
  const Steps steps_;
  std::string out_;
};

}  // namespace

std::string StoreCoefficients(std::string_view jpeg) {
  if (IsStored(jpeg) || jpeg.size() > UINT32_MAX) return {};
  TokenReader reader(jpeg);
  if (!reader.Read()) return {};
  std::string stored = StoredWriter(jpeg, reader).Write();
  if (static_cast<double>(stored.size()) > kMostGrowth * static_cast<double>(jpeg.size()))
    return {};
  return stored;
}

}  // namespace penstock
#endif
