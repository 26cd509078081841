// Finds the fields of a line, 64 bytes per step, with baseline instructions only. Wider ones are no
// faster, because few lines are longer.
#include "compute/io/csv_delimiters.h"

#include <bit>
#include <cstring>

#if defined(__SSE2__)
#define PENSTOCK_CSV_SSE2
#include <emmintrin.h>
#endif

namespace penstock {
namespace {

constexpr size_t kCsvStride = 64;

// One bit for each of 64 bytes.
struct CsvMasks {
  uint64_t delimiters = 0;
  uint64_t others = 0;  // line ends and quotes
};

#if defined(PENSTOCK_CSV_SSE2)

CsvMasks CsvMasksOf(const char* bytes, char delimiter, char quote) {
  CsvMasks masks;
  for (int i = 0; i < 4; ++i) {
    const __m128i part = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes) + i);
    const __m128i ends = _mm_or_si128(_mm_cmpeq_epi8(part, _mm_set1_epi8('\n')),
                                      _mm_cmpeq_epi8(part, _mm_set1_epi8('\r')));
    const __m128i others = _mm_or_si128(ends, _mm_cmpeq_epi8(part, _mm_set1_epi8(quote)));
    const __m128i found = _mm_cmpeq_epi8(part, _mm_set1_epi8(delimiter));
    masks.delimiters |= uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(found))} << (16 * i);
    masks.others |= uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(others))} << (16 * i);
  }
  return masks;
}

#else

CsvMasks CsvMasksOf(const char* bytes, char delimiter, char quote) {
  CsvMasks masks;
  for (size_t i = 0; i < kCsvStride; ++i) {
    const char byte = bytes[i];
    masks.delimiters |= uint64_t{byte == delimiter} << i;
    masks.others |= uint64_t{byte == '\n' || byte == '\r' || byte == quote} << i;
  }
  return masks;
}

#endif

}  // namespace

std::optional<size_t> FindDelimiters(std::string_view line, char delimiter, bool quotes,
                                     uint32_t* found) {
  const char quote = quotes ? '"' : '\n';
  uint32_t* next = found;
  for (size_t at = 0; at < line.size(); at += kCsvStride) {
    const char* here = line.data() + at;
    char copied[kCsvStride] = {};
    uint64_t counted = ~uint64_t{0};
    if (line.size() - at < kCsvStride) {
      std::memcpy(copied, here, line.size() - at);
      counted >>= kCsvStride - (line.size() - at);
      here = copied;
    }
    const CsvMasks masks = CsvMasksOf(here, delimiter, quote);
    if (masks.others & counted) return std::nullopt;
    for (uint64_t bits = masks.delimiters & counted; bits != 0; bits &= bits - 1) {
      *next++ = static_cast<uint32_t>(at) + static_cast<uint32_t>(std::countr_zero(bits));
    }
  }
  return static_cast<size_t>(next - found);
}

}  // namespace penstock
