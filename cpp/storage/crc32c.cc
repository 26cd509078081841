// CRC-32C by instruction, three stretches of the bytes at a time, or by table, eight bytes at a
// time.
#include "storage/crc32c.h"

#include <array>
#include <cstring>

#include "runtime/cpu.h"

#if defined(__x86_64__) || defined(_M_X64)
#define PENSTOCK_CRC_X86
#include <nmmintrin.h>
#if defined(_MSC_VER) && !defined(__clang__)
#define PENSTOCK_CRC_TARGET
#else
#define PENSTOCK_CRC_TARGET __attribute__((target("sse4.2")))
#endif
#elif defined(__aarch64__) && defined(__clang__)
#define PENSTOCK_CRC_ARM
#define PENSTOCK_CRC_TARGET __attribute__((target("crc")))
#elif defined(__aarch64__) && defined(__GNUC__)
#define PENSTOCK_CRC_ARM
#define PENSTOCK_CRC_TARGET __attribute__((target("+crc")))
#endif

namespace penstock {
namespace {

constexpr uint32_t kPolynomial = 0x82F63B78;  // reflected: the highest bit is the constant term

using Table = std::array<uint32_t, 256>;

constexpr std::array<Table, 8> MakeTables() {
  std::array<Table, 8> tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? kPolynomial : 0);
    tables[0][i] = crc;
  }
  for (int t = 1; t < 8; ++t) {
    for (uint32_t i = 0; i < 256; ++i) {
      tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 0xFF];
    }
  }
  return tables;
}

constexpr auto kTables = MakeTables();

// `crc` is the register: the checksum inverted.
uint32_t ExtendByTable(uint32_t crc, const uint8_t* p, size_t size) {
  for (; size >= 8; size -= 8, p += 8) {
    crc ^= p[0] | uint32_t{p[1]} << 8 | uint32_t{p[2]} << 16 | uint32_t{p[3]} << 24;
    crc = kTables[7][crc & 0xFF] ^ kTables[6][(crc >> 8) & 0xFF] ^ kTables[5][(crc >> 16) & 0xFF] ^
          kTables[4][crc >> 24] ^ kTables[3][p[4]] ^ kTables[2][p[5]] ^ kTables[1][p[6]] ^
          kTables[0][p[7]];
  }
  for (; size > 0; --size, ++p) crc = (crc >> 8) ^ kTables[0][(crc ^ *p) & 0xFF];
  return crc;
}

#if defined(PENSTOCK_CRC_TARGET)

// The instruction takes three cycles, and one can begin in each: three independent stretches keep
// it busy. Their registers are joined by moving the earlier ones over as many zero bytes as follow.
constexpr size_t kLongPart = 2048;
constexpr size_t kShortPart = 96;

// a * b modulo the polynomial, over the field of two elements.
constexpr uint32_t Multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t bit = 0x80000000u; bit != 0; bit >>= 1) {
    if (a & bit) product ^= b;
    b = (b >> 1) ^ (b & 1 ? kPolynomial : 0);
  }
  return product;
}

// x to the power of 8 * bytes: what a register is multiplied by over so many zero bytes.
constexpr uint32_t PowerOver(size_t bytes) {
  uint32_t power = 0x80000000u;   // one
  uint32_t square = 0x00800000u;  // x to the 8th
  for (; bytes != 0; bytes >>= 1) {
    if (bytes & 1) power = Multiply(power, square);
    square = Multiply(square, square);
  }
  return power;
}

struct Shift {
  std::array<Table, 4> tables{};

  constexpr explicit Shift(size_t bytes) {
    uint32_t power = PowerOver(bytes);
    for (uint32_t t = 0; t < 4; ++t) {
      for (uint32_t i = 0; i < 256; ++i) tables[t][i] = Multiply(power, i << (8 * t));
    }
  }
  uint32_t operator()(uint32_t crc) const {
    return tables[0][crc & 0xFF] ^ tables[1][(crc >> 8) & 0xFF] ^ tables[2][(crc >> 16) & 0xFF] ^
           tables[3][crc >> 24];
  }
};

constexpr Shift kOverLongPart(kLongPart);
constexpr Shift kOverShortPart(kShortPart);

#if defined(PENSTOCK_CRC_X86)
PENSTOCK_CRC_TARGET inline uint64_t Step8(uint64_t crc, uint64_t word) {
  return _mm_crc32_u64(crc, word);
}
PENSTOCK_CRC_TARGET inline uint64_t Step1(uint64_t crc, uint8_t byte) {
  return _mm_crc32_u8(static_cast<uint32_t>(crc), byte);
}
#elif defined(__clang__)
PENSTOCK_CRC_TARGET inline uint64_t Step8(uint64_t crc, uint64_t word) {
  return __builtin_arm_crc32cd(static_cast<uint32_t>(crc), word);
}
PENSTOCK_CRC_TARGET inline uint64_t Step1(uint64_t crc, uint8_t byte) {
  return __builtin_arm_crc32cb(static_cast<uint32_t>(crc), byte);
}
#else
PENSTOCK_CRC_TARGET inline uint64_t Step8(uint64_t crc, uint64_t word) {
  return __builtin_aarch64_crc32cx(static_cast<uint32_t>(crc), word);
}
PENSTOCK_CRC_TARGET inline uint64_t Step1(uint64_t crc, uint8_t byte) {
  return __builtin_aarch64_crc32cb(static_cast<uint32_t>(crc), byte);
}
#endif

inline uint64_t Word(const uint8_t* p) {
  uint64_t word;
  std::memcpy(&word, p, sizeof(word));
  return word;  // both kinds of CPU are little-endian
}

template <size_t kPart>
PENSTOCK_CRC_TARGET inline uint64_t ExtendByParts(uint64_t crc, const Shift& over,
                                                  const uint8_t*& p, size_t& size) {
  for (; size >= 3 * kPart; size -= 3 * kPart, p += 3 * kPart) {
    uint64_t second = 0;
    uint64_t third = 0;
    for (size_t i = 0; i < kPart; i += 8) {
      crc = Step8(crc, Word(p + i));
      second = Step8(second, Word(p + kPart + i));
      third = Step8(third, Word(p + 2 * kPart + i));
    }
    second ^= over(static_cast<uint32_t>(crc));
    crc = third ^ over(static_cast<uint32_t>(second));
  }
  return crc;
}

PENSTOCK_CRC_TARGET uint32_t ExtendByInstruction(uint32_t start, const uint8_t* p, size_t size) {
  uint64_t crc = start;
  crc = ExtendByParts<kLongPart>(crc, kOverLongPart, p, size);
  crc = ExtendByParts<kShortPart>(crc, kOverShortPart, p, size);
  for (; size >= 8; size -= 8, p += 8) crc = Step8(crc, Word(p));
  for (; size > 0; --size, ++p) crc = Step1(crc, *p);
  return static_cast<uint32_t>(crc);
}

#endif

}  // namespace

uint32_t Crc32cByTable(const void* data, size_t size, uint32_t crc) {
  return ~ExtendByTable(~crc, static_cast<const uint8_t*>(data), size);
}

uint32_t Crc32c(const void* data, size_t size, uint32_t crc) {
#if defined(PENSTOCK_CRC_TARGET)
  static const bool instruction = CpuHasCrc32c();
  if (instruction) return ~ExtendByInstruction(~crc, static_cast<const uint8_t*>(data), size);
#endif
  return Crc32cByTable(data, size, crc);
}

}  // namespace penstock
