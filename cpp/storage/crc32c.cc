// CRC-32C in three ways: carry-less multiplication, 256 bytes per step; the CRC instruction on
// three parts of the bytes in parallel; or tables, eight bytes per step.
#include "storage/crc32c.h"

#include <array>
#include <cstring>

#include "runtime/cpu.h"
#include "runtime/instruction_set.h"

#if defined(PENSTOCK_HAS_AVX)
#define PENSTOCK_CRC_FOLD __attribute__((target("sse4.2,crc32,pclmul,avx512f,avx512dq,vpclmulqdq")))
#include <immintrin.h>
#endif
#if defined(__x86_64__)
#define PENSTOCK_CRC_X86
#include <nmmintrin.h>
#define PENSTOCK_CRC_TARGET __attribute__((target("sse4.2,crc32")))
#elif defined(__aarch64__) && defined(__clang__)
#define PENSTOCK_CRC_ARM
#define PENSTOCK_CRC_TARGET __attribute__((target("crc")))
#elif defined(__aarch64__) && defined(__GNUC__)
#define PENSTOCK_CRC_ARM
#define PENSTOCK_CRC_TARGET __attribute__((target("+crc")))
#endif

namespace penstock {
namespace {

// Reflected: the highest bit is the constant term.
constexpr uint32_t kPolynomial = 0x82F63B78;
constexpr uint32_t kZipPolynomial = 0xEDB88320;

using Table = std::array<uint32_t, 256>;

using Tables = std::array<Table, 8>;

constexpr Tables MakeTables(uint32_t polynomial) {
  Tables tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? polynomial : 0);
    tables[0][i] = crc;
  }
  for (int t = 1; t < 8; ++t) {
    for (uint32_t i = 0; i < 256; ++i) {
      tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 0xFF];
    }
  }
  return tables;
}

constexpr Tables kTables = MakeTables(kPolynomial);
constexpr Tables kZipTables = MakeTables(kZipPolynomial);

// `crc` is the register: the inverted checksum.
uint32_t ExtendByTable(const Tables& tables, uint32_t crc, const uint8_t* p, size_t size) {
  for (; size >= 8; size -= 8, p += 8) {
    crc ^= p[0] | uint32_t{p[1]} << 8 | uint32_t{p[2]} << 16 | uint32_t{p[3]} << 24;
    crc = tables[7][crc & 0xFF] ^ tables[6][(crc >> 8) & 0xFF] ^ tables[5][(crc >> 16) & 0xFF] ^
          tables[4][crc >> 24] ^ tables[3][p[4]] ^ tables[2][p[5]] ^ tables[1][p[6]] ^
          tables[0][p[7]];
  }
  for (; size > 0; --size, ++p) crc = (crc >> 8) ^ tables[0][(crc ^ *p) & 0xFF];
  return crc;
}

#if defined(PENSTOCK_CRC_TARGET)

// The instruction has a latency of three cycles and a throughput of one per cycle, so three
// independent parts keep it busy. The registers are combined by shifting the earlier ones over as
// many zero bytes as follow them.
constexpr size_t kLongPart = 2048;
constexpr size_t kShortPart = 96;

// a * b modulo the polynomial, over GF(2).
constexpr uint32_t Multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t bit = 0x80000000u; bit != 0; bit >>= 1) {
    if (a & bit) product ^= b;
    b = (b >> 1) ^ (b & 1 ? kPolynomial : 0);
  }
  return product;
}

// x to the power of `bits`: the factor that shifts a register over that many zero bits.
constexpr uint32_t PowerOver(size_t bits) {
  uint32_t power = 0x80000000u;   // 1
  uint32_t square = 0x40000000u;  // x
  for (; bits != 0; bits >>= 1) {
    if (bits & 1) power = Multiply(power, square);
    square = Multiply(square, square);
  }
  return power;
}

struct Shift {
  std::array<Table, 4> tables{};

  constexpr explicit Shift(size_t bytes) {
    uint32_t power = PowerOver(8 * bytes);
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

#if defined(PENSTOCK_CRC_FOLD)
namespace avx512 {

// Four vectors of four 16-byte lanes. Each lane is shifted over the bytes that follow it and added
// to the lane at its new place, until one lane is left, which represents all bytes before it.
constexpr size_t kVector = 64;
constexpr size_t kFolded = 4 * kVector;
constexpr size_t kLeastFolded = 2 * kFolded;  // for fewer bytes, the instruction is faster

// The factors that shift the first and second half of a lane over a number of bytes. The product of
// two 64-bit registers has 127 bits, and therefore stands for x times the true product; a 32-bit
// factor in a 64-bit register stands for x^32 times itself.
struct Factors {
  uint64_t first, second;

  constexpr explicit Factors(size_t bytes)
      : first(PowerOver(8 * bytes + 31)), second(PowerOver(8 * bytes - 33)) {}
};

constexpr Factors kOverAll(kFolded), kOverThree(3 * kVector), kOverTwo(2 * kVector),
    kOverVector(kVector);
// Shift the lanes of a vector over those after them; the last lane stays.
constexpr Factors kOverLanes[] = {Factors(48), Factors(32), Factors(16)};

PENSTOCK_CRC_FOLD inline __m512i Vector(const uint8_t* p, size_t number = 0) {
  return _mm512_loadu_si512(p + kVector * number);
}

PENSTOCK_CRC_FOLD inline __m512i Products(__m512i lanes, __m512i factors) {
  return _mm512_xor_si512(_mm512_clmulepi64_epi128(lanes, factors, 0x00),
                          _mm512_clmulepi64_epi128(lanes, factors, 0x11));
}

PENSTOCK_CRC_FOLD inline __m512i Moved(__m512i lanes, const Factors& over, __m512i to) {
  const auto first = static_cast<int64_t>(over.first), second = static_cast<int64_t>(over.second);
  const __m512i factors = _mm512_set4_epi64(second, first, second, first);
  return _mm512_xor_si512(Products(lanes, factors), to);
}

PENSTOCK_CRC_FOLD uint32_t ExtendByFolding(uint32_t start, const uint8_t* p, size_t size) {
  __m512i first = _mm512_xor_si512(
      Vector(p),
      _mm512_setr_epi32(static_cast<int32_t>(start), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
  __m512i second = Vector(p, 1), third = Vector(p, 2), last = Vector(p, 3);
  for (size -= kFolded, p += kFolded; size >= kFolded; size -= kFolded, p += kFolded) {
    first = Moved(first, kOverAll, Vector(p));
    second = Moved(second, kOverAll, Vector(p, 1));
    third = Moved(third, kOverAll, Vector(p, 2));
    last = Moved(last, kOverAll, Vector(p, 3));
  }
  last = Moved(first, kOverThree, Moved(second, kOverTwo, Moved(third, kOverVector, last)));
  for (; size >= kVector; size -= kVector, p += kVector) last = Moved(last, kOverVector, Vector(p));
  alignas(64) uint64_t factors[8] = {};
  for (size_t lane = 0; lane < 3; ++lane) {
    factors[2 * lane] = kOverLanes[lane].first;
    factors[2 * lane + 1] = kOverLanes[lane].second;
  }
  alignas(64) uint64_t lanes[8], moved[8];
  _mm512_store_si512(lanes, last);
  _mm512_store_si512(moved, Products(last, _mm512_load_si512(factors)));
  // Adds the lanes of each half; together with the last lane they are the remaining message.
  uint64_t crc = 0;
  for (size_t half = 0; half < 2; ++half) {
    crc = Step8(crc, moved[half] ^ moved[half + 2] ^ moved[half + 4] ^ lanes[half + 6]);
  }
  return ExtendByInstruction(static_cast<uint32_t>(crc), p, size);
}

}  // namespace avx512
#endif

}  // namespace

uint32_t Crc32cByTable(const void* data, size_t size, uint32_t crc) {
  return ~ExtendByTable(kTables, ~crc, static_cast<const uint8_t*>(data), size);
}

uint32_t Crc32(const void* data, size_t size, uint32_t crc) {
  return ~ExtendByTable(kZipTables, ~crc, static_cast<const uint8_t*>(data), size);
}

uint32_t Crc32c(const void* data, size_t size, uint32_t crc) {
#if defined(PENSTOCK_CRC_FOLD)
  static const bool folds = CpuHasFolding();
  if (size >= avx512::kLeastFolded && folds && ChosenInstructionSet() == InstructionSet::kAvx512) {
    return ~avx512::ExtendByFolding(~crc, static_cast<const uint8_t*>(data), size);
  }
#endif
#if defined(PENSTOCK_CRC_TARGET)
  static const bool instruction = CpuHasCrc32c();
  if (instruction) return ~ExtendByInstruction(~crc, static_cast<const uint8_t*>(data), size);
#endif
  return Crc32cByTable(data, size, crc);
}

}  // namespace penstock
