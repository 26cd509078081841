// Packed integers, for each instruction set.
#include "compute/io/packed_numbers.h"

#include <bit>

#include "compute/io/wire.h"

#if defined(PENSTOCK_HAS_AVX)
#include <immintrin.h>
#endif

namespace penstock {
namespace {

static_assert(std::endian::native == std::endian::little, "words are taken as they lie");

constexpr size_t kPackedWord = sizeof(uint64_t);
constexpr uint64_t kStops = 0x8080808080808080;  // clear in the last byte of each number

constexpr size_t kLongest = 10;

[[noreturn]] void RefuseLong(const uint8_t* first) {
  throw WireError{"a number is longer than 10 bytes", first};
}

}  // namespace
}  // namespace penstock

#define PENSTOCK_LOOPS "compute/io/packed_numbers.inc"
#include "runtime/for_each_instruction_set.inc"

namespace penstock {

ReadNumbers ReadNumbersOf(InstructionSet set) {
  return LoopsOf(set, &baseline::ReadPackedNumbers, &avx2::ReadPackedNumbers,
                 &avx512::ReadPackedNumbers);
}

}  // namespace penstock
