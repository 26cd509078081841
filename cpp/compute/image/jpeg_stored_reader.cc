// Copies stored coefficients to libjpeg's blocks.
#if defined(PENSTOCK_HAS_JPEG)
#include <bit>
#include <cstring>

#include "compute/image/jpeg_coefficients.h"
#include "data/error.h"
#include "storage/crc32c.h"

namespace penstock {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are taken as they lie");

template <typename T>
T NumberAt(const void* at) {
  T number;
  std::memcpy(&number, at, sizeof(number));
  return number;
}

[[noreturn]] void ThrowDamaged(std::string_view why) {
  throw Error(
      ErrorKind::kData,
      "decode_jpeg: contents are corrupt: stored coefficients of a JPEG {}; store them again", why);
}

class StoredMcus final : public JpegMcus {
 public:
  StoredMcus(j_decompress_ptr info, JDIMENSION first_column, const StoredCoefficients& stored)
      : JpegMcus(*info, first_column) {
    ReadSteps(stored.steps);
    const size_t rows = info->MCU_rows_in_scan, index = 4 * (rows + 1);
    if (stored.rows.size() < index) ThrowDamaged("have no such rows");
    row_index_ = reinterpret_cast<const uint8_t*>(stored.rows.data());
    begin_ = row_index_ + index;
    end_ = row_index_ + stored.rows.size();
    decode_mcu = OnMcu;
    SetMcuDecoder(info, this);
  }

 private:
  // One or two coefficients; for a single one, both are the same.
  struct Step {
    int16_t first = 0, second = 0;
    uint8_t zeros = 0;    // before the first one
    uint8_t between = 0;  // offset from the first to the second
    // Offset from the second to the next one. Unassigned step numbers end their block, so that no
    // data can keep the reader going.
    uint8_t after = kStoredLast;
  };

  static boolean OnMcu(j_decompress_ptr info, JBLOCKROW* blocks) {
    auto& self = *static_cast<StoredMcus*>(McuDecoderOf(info));
    if (!self.Read(blocks)) ERREXIT(info, JERR_INPUT_EOF);
    return TRUE;
  }

  void ReadSteps(std::string_view bytes) {
    const auto* at = reinterpret_cast<const uint8_t*>(bytes.data());
    const int ones = at[0], twos = at[1];
    at += 2;
    for (int i = 1; i <= ones + twos; ++i) {
      Step& step = steps_[i];
      step.zeros = at[0] & (DCTSIZE2 - 1);
      step.first = step.second = NumberAt<int16_t>(at + 1);
      step.after = 1 + (at[0] & kStoredLast);
      at += 3;
      if (i <= ones) continue;
      step.between = 1 + (at[0] & (DCTSIZE2 - 1));
      step.second = NumberAt<int16_t>(at + 1);
      step.after = 1 + (at[0] & kStoredLast);
      at += 3;
    }
  }

  // False if the data end too early.
  bool Read(JBLOCKROW* blocks) {
    const bool wanted = Wanted(blocks);
    if (wanted && column_ == read_) [[likely]]
      return ReadMcu(blocks) && Advance();
    // The MCUs before it in this row were skipped.
    while (wanted && read_ < column_) {
      if (!ReadMcu(nullptr)) return false;
    }
    return (!wanted || ReadMcu(blocks)) && Advance();
  }

  bool Advance() {
    if (++column_ < columns_) return true;
    column_ = read_ = 0;
    ++row_;
    return true;
  }

  bool ReadMcu(JBLOCKROW* blocks) {
    if (read_ == 0 && !BeginRow()) return false;
    ++read_;
    // A block takes at most 3 bytes for its DC coefficient, and 4 for each of 63 others.
    const bool plenty = end_ - at_ >= D_MAX_BLOCKS_IN_MCU * 4 * DCTSIZE2;
    for (int i = 0; i < block_count_; ++i) {
      const Block& block = blocks_[static_cast<size_t>(i)];
      JCOEF* out = blocks && block.wanted ? *blocks[i] : unwanted_;
      int& dc = dc_[static_cast<size_t>(block.component)];
      if (!(plenty ? ReadBlock<false>(out, dc) : ReadBlock<true>(out, dc))) return false;
    }
    return true;
  }

  bool BeginRow() {
    const auto offset = NumberAt<uint32_t>(row_index_ + 4 * size_t{row_});
    if (offset > static_cast<size_t>(end_ - begin_)) return false;
    at_ = begin_ + offset;
    dc_ = {};
    return true;
  }

  template <bool kChecked>
  bool ReadBlock(JCOEF* out, int& dc) {
    const uint8_t* at = at_;
    if (kChecked && at == end_) return false;
    int difference = *at++ - kStoredNearest;
    if (difference > kStoredNearest) {
      if (kChecked && end_ - at < 2) return false;
      difference = NumberAt<int16_t>(at);
      at += 2;
    }
    dc += difference;
    out[0] = static_cast<JCOEF>(dc);
    uint32_t k = 1;
    do {
      if (kChecked && at == end_) return false;
      const uint8_t number = *at++;
      if (number == kStoredOther) [[unlikely]] {
        if (kChecked && end_ - at < 3) return false;
        k += *at & (DCTSIZE2 - 1);
        out[kNatural[k]] = NumberAt<int16_t>(at + 1);
        k += 1 + (*at & kStoredLast);
        at += 3;
        continue;
      }
      const Step& step = steps_[number];
      k += step.zeros;
      out[kNatural[k]] = step.first;
      k += step.between;
      out[kNatural[k]] = step.second;
      k += step.after;
    } while (k < DCTSIZE2);
    at_ = at;
    return true;
  }

  std::array<Step, 256> steps_{};
  const uint8_t* row_index_;
  const uint8_t* begin_;
  const uint8_t* end_;
  const uint8_t* at_ = nullptr;
  JDIMENSION row_ = 0;   // in MCUs
  JDIMENSION read_ = 0;  // MCUs read in this row
};

}  // namespace

bool IsStored(std::string_view contents) {
  constexpr size_t kAt = kStoredStart.size() + 2;
  return contents.size() > kAt && contents.starts_with(kStoredStart) &&
         contents.substr(kAt).starts_with(kStoredMagic);
}

StoredCoefficients OpenStored(std::string_view contents) {
  constexpr size_t kBefore = kStoredStart.size() + 2 + kStoredMagic.size();
  if (contents.size() < kBefore + 2 * kStoredNumber + 1) ThrowDamaged("end too early");
  const size_t size = contents.size() - kStoredNumber;
  if (NumberAt<uint32_t>(contents.data() + size) != Crc32c(contents.data(), size)) {
    ThrowDamaged("do not have the checksum that they were stored with");
  }
  const char* at = contents.data() + kBefore;
  const char frame = *at;
  const auto frame_at = NumberAt<uint32_t>(at + 1);
  const auto header_size = NumberAt<uint32_t>(at + 1 + kStoredNumber);
  std::string_view rest = contents.substr(0, size).substr(kBefore + 1 + 2 * kStoredNumber);
  if (frame_at < 2 || frame_at >= header_size || header_size > rest.size()) {
    ThrowDamaged("have no header");
  }
  StoredCoefficients stored;
  stored.header.append(contents.substr(0, 2)).append(rest.substr(0, header_size - 2));
  stored.header[frame_at] = frame;
  rest.remove_prefix(header_size - 2);
  const size_t steps = 2 + 3 * static_cast<uint8_t>(rest[0]) + 6 * static_cast<uint8_t>(rest[1]);
  if (static_cast<uint8_t>(rest[0]) + static_cast<uint8_t>(rest[1]) > kStoredMostSteps ||
      rest.size() < steps) {
    ThrowDamaged("have no steps");
  }
  stored.steps = rest.substr(0, steps);
  stored.rows = rest.substr(steps);
  return stored;
}

std::unique_ptr<JpegMcus> ReadStored(j_decompress_ptr info, JDIMENSION first_column,
                                     const StoredCoefficients& stored) {
  if (!IsBaseline(info)) ThrowDamaged("have the header of another kind of JPEG");
  return std::make_unique<StoredMcus>(info, first_column, stored);
}

}  // namespace penstock
#endif
