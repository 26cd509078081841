// Huffman codes of a baseline JPEG as tables that decode a coefficient with one lookup.
#pragma once
#if defined(PENSTOCK_HAS_JPEG)

#include <cstddef>
#include <cstdint>

#include "compute/image/libjpeg.h"

namespace penstock {

constexpr int kLookupBits = 11;

// An entry for the next kLookupBits bits of the data. `length` bits are consumed. From the lowest
// bit:
//   6 bits  length, of the code and of the bits of its value
//   1 bit   unused
//   1 bit   kLast: the end-of-block code follows, and `length` includes it. After the last of the
//           64 coefficients there is no such code
//   8 bits  the number of zero coefficients before this one; kEndOfBlock: all remaining ones are
//           zero; kLonger: the value (or the code, whose length is then 0) needs more bits than
//           were looked up. `length` is then the length of the code alone, and the value is its
//           symbol
//   16 bits the value of the coefficient, or the difference of two DC coefficients
using HuffmanEntry = uint32_t;
constexpr HuffmanEntry kEntryLength = 63, kLast = 128;
constexpr uint32_t kEndOfBlock = 64, kLonger = 128;

struct HuffmanTable {
  HuffmanEntry entries[1 << kLookupBits];
  // For each length: the smallest 16 bits that are not a code of at most this length, and what to
  // add to a code for the index of its symbol.
  uint32_t limits[17];
  int32_t places[17];
  uint8_t symbols[256];
  uint32_t end_code;  // the end-of-block code, if kLast is used in `entries`
  int end_length;
};

// What the codes within the next kWalkBits bits skip, when no coefficient is needed; bits of the
// last value may follow those. From the lowest bit:
//   6 bits  length, of the codes and of the bits of their values
//   8 bits  the number of AC coefficients, below 64; kWalkNone: no code, or a long value
//   1 bit   unused
//   1 bit   kWalkEnds: the last code ends the block
constexpr uint32_t kWalkBits = 12, kWalkMost = 18;  // maximum length
using WalkEntry = uint16_t;
constexpr WalkEntry kWalkLength = 63, kWalkEnds = 1 << 15;
constexpr uint32_t kWalkNone = 128;
inline uint32_t CoefficientsOf(WalkEntry entry) { return entry >> 6 & 0xFF; }

struct WalkTable {
  WalkEntry entries[1 << kWalkBits];
};

inline uint32_t ZerosOf(HuffmanEntry entry) { return entry >> 8 & 0xFF; }
inline int ValueOf(HuffmanEntry entry) { return static_cast<int32_t>(entry) >> 16; }

// `codes` have passed libjpeg's checks: the lengths form a prefix code, and DC symbols are below
// 16.
void FillDcTable(const JHUFF_TBL& codes, HuffmanTable& table);
void FillAcTable(const JHUFF_TBL& codes, HuffmanTable& table);
void FillAcWalkTable(const JHUFF_TBL& codes, WalkTable& table);

struct HuffmanCode {
  int length = 0;  // 0: not a code
  int symbol = 0;
};
// The code in the next 16 bits, if it has at least that length.
inline HuffmanCode CodeIn(uint32_t bits, const HuffmanTable& table, int least_length) {
  for (int length = least_length; length <= 16; ++length) {
    if (bits >= table.limits[length]) continue;
    return {length, table.symbols[table.places[length] + static_cast<int>(bits >> (16 - length))]};
  }
  return {};
}

// The value of `size` bits (ITU-T T.81, F.2.2.1: EXTEND); 0 for no bits.
inline int ExtendedValue(uint32_t bits, int size) {
  const int value = static_cast<int>(bits), half = (1 << size) >> 1;
  return value < half ? value - (1 << size) + 1 : value;
}

}  // namespace penstock
#endif
