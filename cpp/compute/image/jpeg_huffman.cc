// Fills the tables from the lengths and symbols of a DHT segment.
#if defined(PENSTOCK_HAS_JPEG)
#include "compute/image/jpeg_huffman.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace penstock {
namespace {

constexpr uint32_t kTableSize = 1u << kLookupBits;

HuffmanEntry EntryOf(int length, uint32_t zeros, int value) {
  return static_cast<HuffmanEntry>(length) | zeros << 8 | static_cast<uint32_t>(value) << 16;
}

// Sets all entries whose highest `length` bits are `code`.
void FillPrefix(HuffmanTable& table, uint32_t code, int length, HuffmanEntry entry) {
  const int rest = kLookupBits - length;
  std::fill_n(table.entries + (code << rest), size_t{1} << rest, entry);
}

struct ShortCode {
  uint32_t code = 0;
  int length = 0;  // 0: no code
};

// Adds entries for every value of `size` bits after a code; if the code `end` also fits, the
// entries include it.
void FillValues(HuffmanTable& table, const ShortCode& prefix, int size, uint32_t zeros,
                const ShortCode& end) {
  const int length = prefix.length + size, both = length + end.length;
  for (uint32_t bits = 0; bits < 1u << size; ++bits) {
    const uint32_t code = prefix.code << size | bits;
    const int value = ExtendedValue(bits, size);
    FillPrefix(table, code, length, EntryOf(length, zeros, value));
    if (end.length > 0 && both <= kLookupBits) {
      FillPrefix(table, code << end.length | end.code, both, EntryOf(both, zeros, value) | kLast);
    }
  }
}

// Calls fill(code, symbol) for every code of at most kLookupBits bits, and records the limits and
// places of each length.
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

// Calls visit(code, symbol) for every code of at most `longest` bits.
template <typename Visit>
void ForEachCode(const JHUFF_TBL& codes, int longest, Visit visit) {
  uint32_t code = 0;
  int place = 0;
  for (int length = 1; length <= longest; ++length, code <<= 1) {
    for (int i = 0; i < codes.bits[length]; ++i, ++code, ++place) {
      visit(ShortCode{code, length}, codes.huffval[place]);
    }
  }
}

ShortCode CodeOfEndOfBlock(const JHUFF_TBL& codes) {
  ShortCode end;
  ForEachCode(codes, kLookupBits, [&](const ShortCode& code, uint8_t symbol) {
    if (symbol == 0) end = code;
  });
  return end;
}

// For each kWalkBits bits, the code that they begin with; length 0: a longer code.
struct FirstCodes {
  struct Code {
    uint8_t length = 0;
    uint8_t symbol = 0;
  };

  explicit FirstCodes(const JHUFF_TBL& table) {
    ForEachCode(table, kWalkBits, [&](const ShortCode& code, uint8_t symbol) {
      const int rest = kWalkBits - code.length;
      std::fill_n(codes.begin() + (code.code << rest), size_t{1} << rest,
                  Code{static_cast<uint8_t>(code.length), symbol});
    });
  }

  std::array<Code, 1 << kWalkBits> codes{};
};

WalkEntry WalkEntryOf(uint32_t length, uint32_t ends, uint32_t coefficients) {
  return static_cast<WalkEntry>(coefficients << 6 | ends | length);
}
constexpr WalkEntry kNoWalk = kWalkNone << 6;

// What the AC codes in `bits`, a group of kWalkBits bits, skip.
WalkEntry WalkOver(const FirstCodes& first, uint32_t bits) {
  uint32_t taken = 0, coefficients = 0, end = 0;
  while (taken < kWalkBits) {
    // Zeros follow the known bits; the check below rejects codes that would use them.
    const auto code = first.codes[bits << taken & ((1u << kWalkBits) - 1)];
    if (code.length == 0 || taken + code.length > kWalkBits) break;
    const uint32_t zeros = code.symbol >> 4, size = code.symbol & 15;
    if (size == 0 && zeros < 15) {
      end = kWalkEnds;
      taken += code.length;
      break;
    }
    if (taken + code.length + size > kWalkMost || coefficients + zeros + 1 >= DCTSIZE2) break;
    taken += code.length + size;
    coefficients += zeros + 1;
  }
  return taken == 0 ? kNoWalk : WalkEntryOf(taken, end, coefficients);
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
      // Sixteen zeros (symbol 0xF0) equal fifteen zeros and a coefficient of zero.
      FillValues(table, code, size, static_cast<uint32_t>(zeros), end);
    } else {
      FillPrefix(table, code.code, code.length, EntryOf(code.length, kLonger, symbol));
    }
  });
}

void FillAcWalkTable(const JHUFF_TBL& codes, WalkTable& table) {
  const FirstCodes first(codes);
  for (uint32_t bits = 0; bits < 1u << kWalkBits; ++bits) {
    table.entries[bits] = WalkOver(first, bits);
  }
}

}  // namespace penstock
#endif
