// Fills the tables from the lengths and symbols of a DHT segment.
#if defined(PENSTOCK_HAS_JPEG)
#include "compute/image/jpeg_huffman.h"

#include <algorithm>
#include <cstring>

namespace penstock {
namespace {

constexpr uint32_t kTableSize = 1u << kLookupBits;

HuffmanEntry EntryOf(int length, uint32_t zeros, int value) {
  return static_cast<HuffmanEntry>(length) | zeros << 8 | static_cast<uint32_t>(value) << 16;
}

// All entries whose highest `length` bits are `code`.
void FillPrefix(HuffmanTable& table, uint32_t code, int length, HuffmanEntry entry) {
  const int rest = kLookupBits - length;
  std::fill_n(table.entries + (code << rest), size_t{1} << rest, entry);
}

struct ShortCode {
  uint32_t code = 0;
  int length = 0;  // 0: there is none
};

// Fills in every value that may follow a code with `size` bits; where the code `end` fits too,
// both.
void FillValues(HuffmanTable& table, const ShortCode& prefix, int size, uint32_t zeros,
                const ShortCode& end) {
  const int length = prefix.length + size, both = length + end.length;
  for (uint32_t bits = 0; bits < 1u << size; ++bits) {
    const uint32_t code = prefix.code << size | bits;
    const int value = size == 0 ? 0 : ExtendedValue(bits, size);
    FillPrefix(table, code, length, EntryOf(length, zeros, value));
    if (end.length > 0 && both <= kLookupBits) {
      FillPrefix(table, code << end.length | end.code, both, EntryOf(both, zeros, value) | kLast);
    }
  }
}

// Calls fill(code, symbol) for every code of at most kLookupBits bits, and notes the longer ones.
template <typename Fill>
void WalkCodes(const JHUFF_TBL& codes, HuffmanTable& table, Fill fill) {
  std::memcpy(table.symbols, codes.huffval, sizeof(table.symbols));
  uint32_t code = 0;
  int place = 0;
  for (int length = 1; length <= 16; ++length, code <<= 1) {
    table.places[length] = place - static_cast<int>(code);
    for (int i = 0; i < codes.bits[length]; ++i, ++code, ++place) {
      if (length <= kLookupBits) fill(ShortCode{code, length}, codes.huffval[place]);
    }
    table.limits[length] = code << (16 - length);
    if (length == kLookupBits) {
      std::fill(table.entries + code, table.entries + kTableSize, EntryOf(0, kLonger, 0));
    }
  }
}

ShortCode CodeOfEndOfBlock(const JHUFF_TBL& codes) {
  uint32_t code = 0;
  int place = 0;
  for (int length = 1; length <= kLookupBits; ++length, code <<= 1) {
    for (int i = 0; i < codes.bits[length]; ++i, ++code, ++place) {
      if (codes.huffval[place] == 0) return {code, length};
    }
  }
  return {};
}

// The whole codes in `bits`, kWalkBits of them.
WalkEntry WalkOf(const HuffmanTable& codes, uint32_t bits) {
  int taken = 0;
  uint32_t coefficients = 0;
  for (;;) {
    // What is after the bits that are known are zeros, which are no part of a whole code.
    const uint32_t next = bits << taken & ((1u << kWalkBits) - 1);
    const HuffmanEntry entry = codes.entries[next >> (kWalkBits - kLookupBits)];
    const int length = static_cast<int>(entry & kEntryLength), left = kWalkBits - taken;
    const uint32_t zeros = ZerosOf(entry);
    const bool ends = zeros == kEndOfBlock || (entry & kLast);
    const int alone = entry & kLast ? length - codes.end_length : length;  // without the end
    const uint32_t after = zeros == kEndOfBlock ? coefficients : coefficients + zeros + 1;
    if (zeros == kLonger || alone > left || after >= DCTSIZE2) break;
    coefficients = after;
    taken += length > left ? alone : length;
    if (ends && length <= left) {
      return static_cast<WalkEntry>(coefficients << 6 | kWalkEnds | static_cast<uint32_t>(taken));
    }
  }
  return static_cast<WalkEntry>(coefficients << 6 | static_cast<uint32_t>(taken));
}

}  // namespace

void FillDcTable(const JHUFF_TBL& codes, HuffmanTable& table) {
  WalkCodes(codes, table, [&](const ShortCode& code, int symbol) {
    if (code.length + symbol <= kLookupBits) {
      FillValues(table, code, symbol, 0, {});
    } else {
      FillPrefix(table, code.code, code.length, EntryOf(code.length, kLonger, symbol));
    }
  });
}

void FillAcTable(const JHUFF_TBL& codes, HuffmanTable& table) {
  const ShortCode end = CodeOfEndOfBlock(codes);
  table.end_code = end.code;
  table.end_length = end.length;
  WalkCodes(codes, table, [&](const ShortCode& code, int symbol) {
    const int zeros = symbol >> 4, size = symbol & 15;
    if (size == 0 && zeros < 15) {
      FillPrefix(table, code.code, code.length, EntryOf(code.length, kEndOfBlock, 0));
    } else if (code.length + size <= kLookupBits) {
      // Sixteen zeros (symbol 0xF0) are fifteen and a coefficient that is zero.
      FillValues(table, code, size, static_cast<uint32_t>(zeros), end);
    } else {
      FillPrefix(table, code.code, code.length, EntryOf(code.length, kLonger, symbol));
    }
  });
}

void FillWalkTable(const HuffmanTable& codes, WalkTable& table) {
  for (uint32_t bits = 0; bits < 1u << kWalkBits; ++bits) table.entries[bits] = WalkOf(codes, bits);
}

}  // namespace penstock
#endif
