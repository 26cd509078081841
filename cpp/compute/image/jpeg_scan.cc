// Huffman codes by tables: ITU-T T.81, annexes C and F.
#if defined(PENSTOCK_HAS_JPEG)
#include "compute/image/jpeg_scan.h"

#include <algorithm>
#include <bit>
#include <cstring>

// The beginning of it, the same in all versions of libjpeg, which do not install its declaration
// (jpegint.h) everywhere.
struct jpeg_entropy_decoder {
  void (*start_pass)(j_decompress_ptr info);
  boolean (*decode_mcu)(j_decompress_ptr info, JBLOCKROW* blocks);
};

namespace penstock {
namespace {

// Where in a block each coefficient is. Damaged runs lead to the last one, as in libjpeg.
constexpr std::array<uint8_t, DCTSIZE2 + 16> kNatural{
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33,
    40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36,
    29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54,
    47, 55, 62, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63};

// More than a block and a look ahead can read after the end.
constexpr size_t kBeyond = 512;

// A code of `length` bits for `symbol`: a number of zeros, and the bits of the value after them.
// From the lowest bit on: the bits of code and value, 8 bits each of the length, the bits of the
// value, and the zeros.
uint32_t Entry(int length, int symbol) {
  const int size = symbol & 15;
  return static_cast<uint32_t>((length + size) | length << 8 | size << 16 | symbol >> 4 << 24);
}
int Total(uint32_t entry) { return static_cast<int>(entry & 63); }
int Size(uint32_t entry) { return static_cast<int>(entry >> 16 & 15); }
int Zeros(uint32_t entry) { return static_cast<int>(entry >> 24); }

// The value of a code of this entry at the beginning of these bits, which has some. A first bit of
// 0 says that it is negative.
int Value(uint64_t ahead, uint32_t entry) {
  const uint64_t bits = ahead << (entry >> 8 & 31);
  const int size = Size(entry);
  const auto negative = static_cast<int>(~static_cast<int64_t>(bits) >> 63);
  return static_cast<int>(bits >> (64 - size)) + (negative & (1 - (1 << size)));
}

uint64_t BigEndian(const uint8_t* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof(word));
  if constexpr (std::endian::native == std::endian::little) {
    word = (word & 0x00FF00FF00FF00FF) << 8 | (word >> 8 & 0x00FF00FF00FF00FF);
    word = (word & 0x0000FFFF0000FFFF) << 16 | (word >> 16 & 0x0000FFFF0000FFFF);
    word = word << 32 | word >> 32;
  }
  return word;
}

}  // namespace

bool JpegScan::Codes::Read(const JHUFF_TBL& table) {
  symbols = table.huffval;
  int32_t code = 0, number = 0;
  for (int length = 1; length <= kLongest; ++length, code <<= 1) {
    const int32_t count = table.bits[length];
    if (code + count > 1 << length || number + count > 256) return false;
    symbol[static_cast<size_t>(length)] = number - code;
    last[static_cast<size_t>(length)] = count > 0 ? code + count - 1 : -1;
    for (int32_t i = 0; i < count; ++i, ++code, ++number) {
      if (length > kLook) continue;
      const int rest = kLook - length;
      auto first = entries.begin() + (static_cast<int64_t>(code) << rest);
      std::fill(first, first + (1 << rest), Entry(length, symbols[number]));
    }
  }
  return true;
}

// Of the code that is ahead; 0: there is none. There are at least 31 bits then, which is as many as
// a code and its value have.
inline uint32_t JpegScan::EntryOf(const Codes& codes, Bits& bits) {
  bits.ahead |= BigEndian(bits.next) >> bits.count;
  bits.next += (63 - bits.count) >> 3;
  bits.count |= 56;
  if (const uint32_t entry = codes.entries[bits.ahead >> (64 - kLook)]) [[likely]]
    return entry;
  for (int length = kLook + 1; length <= kLongest; ++length) {
    const auto code = static_cast<int32_t>(bits.ahead >> (64 - length));
    if (code > codes.last[static_cast<size_t>(length)]) continue;
    return Entry(length, codes.symbols[code + codes.symbol[static_cast<size_t>(length)]]);
  }
  return 0;
}

bool JpegScan::ReadBlock(Component& component, Bits& ahead, JCOEF* block) {
  constexpr int kLargest = 1 << 14;  // more than any that an encoder makes
  constexpr uint32_t kSixteenZeros = 15;
  const Codes& coefficients = *component.coefficients;
  Bits bits = ahead;  // in registers
  auto take = [&bits](uint32_t entry) {
    bits.ahead <<= Total(entry);
    bits.count -= Total(entry);
  };
  const uint32_t first = EntryOf(*component.differences, bits);
  if (first == 0) return false;
  if (Size(first) > 0) component.last += Value(bits.ahead, first);
  take(first);
  if (component.last > kLargest || component.last < -kLargest) return false;
  block[0] = static_cast<JCOEF>(component.last);
  for (int k = 1; k < DCTSIZE2; ++k) {
    const uint32_t entry = EntryOf(coefficients, bits);
    const int value = Size(entry) > 0 ? Value(bits.ahead, entry) : 0;
    take(entry);
    k += Zeros(entry);
    if (Size(entry) > 0) [[likely]] {
      block[kNatural[static_cast<size_t>(k)]] = static_cast<JCOEF>(value);
    } else if (entry == 0) {
      return false;
    } else if (Zeros(entry) != kSixteenZeros) {
      break;
    }
  }
  ahead = bits;
  return true;
}

bool JpegScan::Next(JBLOCKROW* blocks) {
  JBLOCK unused;
  for (int i = 0; i < blocks_; ++i) {
    JCOEF* block = blocks ? blocks[i][0] : unused;
    if (!ReadBlock(components_[component_of_[static_cast<size_t>(i)]], bits_, block)) return false;
    if (bits_.next - bits_.count / 8 > end_) return false;
  }
  return true;
}

bool JpegScan::CopyData(const uint8_t* begin, const uint8_t* end) {
  data_.reset(new uint8_t[static_cast<size_t>(end - begin) + kBeyond]);
  uint8_t* to = data_.get();
  for (const uint8_t* at = begin;;) {
    const auto rest = static_cast<size_t>(end - at);
    const auto* marker = static_cast<const uint8_t*>(std::memchr(at, 0xFF, rest));
    if (!marker || end - marker < 2 || marker[1] == 0xFF) return false;
    const bool stuffed = marker[1] == 0;
    to = std::copy(at, marker + (stuffed ? 1 : 0), to);
    at = marker + 2;
    if (!stuffed) break;
  }
  std::memset(to, 0, kBeyond);
  end_ = to;
  bits_.next = data_.get();
  return true;
}

std::unique_ptr<JpegScan> JpegScan::Of(const jpeg_decompress_struct& info) {
  if (info.progressive_mode || info.arith_code || info.restart_interval != 0 || info.Ss != 0 ||
      info.Se != DCTSIZE2 - 1 || info.Ah != 0 || info.Al != 0 || info.data_precision != 8 ||
      info.comps_in_scan != info.num_components || info.blocks_in_MCU > D_MAX_BLOCKS_IN_MCU) {
    return nullptr;
  }
  std::unique_ptr<JpegScan> scan(new JpegScan);
  std::array<Codes*, size_t{2} * NUM_HUFF_TBLS> made{};
  scan->codes_.reserve(made.size());
  auto codes = [&](const JHUFF_TBL* table, size_t slot) -> const Codes* {
    if (made.at(slot)) return made[slot];
    scan->codes_.emplace_back();
    if (!table || !scan->codes_.back().Read(*table)) return nullptr;
    return made[slot] = &scan->codes_.back();
  };
  for (int i = 0; i < info.comps_in_scan; ++i) {
    const auto differences = static_cast<size_t>(info.cur_comp_info[i]->dc_tbl_no);
    const auto coefficients = static_cast<size_t>(info.cur_comp_info[i]->ac_tbl_no);
    Component& component = scan->components_[static_cast<size_t>(i)];
    component.differences = codes(info.dc_huff_tbl_ptrs[differences], differences);
    component.coefficients =
        codes(info.ac_huff_tbl_ptrs[coefficients], NUM_HUFF_TBLS + coefficients);
    if (!component.differences || !component.coefficients) return nullptr;
  }
  scan->blocks_ = info.blocks_in_MCU;
  for (int i = 0; i < info.blocks_in_MCU; ++i) {
    scan->component_of_[static_cast<size_t>(i)] = static_cast<uint8_t>(info.MCU_membership[i]);
  }
  const uint8_t* begin = info.src->next_input_byte;
  if (!scan->CopyData(begin, begin + info.src->bytes_in_buffer)) return nullptr;
  return scan;
}

void JpegScan::Replace(j_decompress_ptr info, boolean (*decode)(j_decompress_ptr, JBLOCKROW*)) {
  info->entropy->decode_mcu = decode;
}

}  // namespace penstock
#endif
