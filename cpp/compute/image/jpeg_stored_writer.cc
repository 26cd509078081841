// Stores the coefficients of a JPEG: the most frequent ones, and pairs of them, take one byte.
#if defined(PENSTOCK_HAS_JPEG)
#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "compute/image/jpeg_coefficients.h"
#include "compute/image/jpeg_header.h"
#include "compute/image/jpeg_scan.h"
#include "compute/image/little_endian.h"
#include "storage/crc32c.h"

namespace penstock {
namespace {

constexpr double kMostGrowth = 1.6;  // relative to the bytes of the JPEG

// A coefficient as (zeros << 1 | last) << 16 | value, or a DC coefficient as kIsDc | difference.
using Token = uint32_t;
constexpr Token kIsDc = 1u << 31;

// The zeros, with the mark of the last coefficient, and the value.
void AppendCoefficient(std::string& out, Token token) {
  const uint32_t zeros = token >> 17, last = token >> 16 & 1;
  AppendNumber(out, zeros | (last ? kStoredLast : 0), 1);
  AppendNumber(out, token & 0xFFFF, 2);
}

// The coefficients of a JPEG in the order of its scan.
class TokenReader final : public JpegScan {
 public:
  using JpegScan::JpegScan;

  const std::vector<Token>& tokens() const { return tokens_; }
  const std::vector<size_t>& rows() const { return rows_; }  // where they begin

 private:
  // False if a coefficient cannot be stored.
  bool Take(JDIMENSION column, const JBLOCK* blocks) override {
    if (column == 0) {
      rows_.push_back(tokens_.size());
      dc_ = {};
    }
    for (int i = 0; i < info().blocks_in_MCU; ++i) {
      int& dc = dc_[static_cast<size_t>(info().MCU_membership[i])];
      const int difference = blocks[i][0] - dc;
      if (difference != static_cast<int16_t>(difference)) return false;
      dc = blocks[i][0];
      tokens_.push_back(kIsDc | static_cast<uint16_t>(difference));
      PushCoefficients(blocks[i]);
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

  std::vector<Token> tokens_;
  std::vector<size_t> rows_;
  std::array<int, MAX_COMPS_IN_SCAN> dc_{};
};

// Step numbers for the most frequent coefficients, and pairs of them, in an image.
class Steps {
 public:
  explicit Steps(const std::vector<Token>& tokens) {
    ChooseOnes(tokens);
    ChooseTwos(tokens);
  }

  // The step for the coefficient at that index; 0: no step.
  uint8_t One(size_t at) const { return numbers_[at]; }
  // The step for it and the next coefficient, of the same block; 0: no step.
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
  static constexpr size_t kSide = kMostOnes + 1;  // numbers of single coefficients, and 0
  // Minimum counts for which a step saves more bytes than it takes in the table.
  static constexpr uint32_t kLeastOnes = 2, kLeastTwos = 7;
  // Limits for counted coefficients: zeros before it, and absolute value.
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

  // The indices of the largest counts, at most `most` of them, without counts below `least`.
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
  std::vector<size_t> pairs_;     // from PairOf
  std::vector<uint8_t> numbers_;  // for all tokens
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
    AppendNumber(out_, Crc32c(out_.data(), out_.size()), kStoredNumber);
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
    AppendNumber(out_, static_cast<uint32_t>(frame_at), kStoredNumber);
    AppendNumber(out_, static_cast<uint32_t>(header_size_), kStoredNumber);
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
      AppendNumber(out_, static_cast<uint32_t>(blocks.size()), kStoredNumber);
    }
    out_ += blocks;
  }

  // Returns the number of tokens used. A block ends with its last coefficient, or has none.
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
