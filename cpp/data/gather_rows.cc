// Copying rows by their numbers.
#include "data/gather_rows.h"

#include <algorithm>
#include <cstring>

#include "runtime/platform.h"

namespace penstock {
namespace {

template <size_t kBytes>
void GatherFixed(uint8_t* to, const uint8_t* from, const int64_t* indices, int64_t rows) {
  for (int64_t i = 0; i < rows; ++i) {
    std::memcpy(to + static_cast<size_t>(i) * kBytes,
                from + static_cast<size_t>(indices[i]) * kBytes, kBytes);
  }
}

}  // namespace

void GatherRows(uint8_t* to, const uint8_t* from, size_t bytes, const int64_t* indices,
                int64_t rows) {
  switch (bytes) {
    case 1:
      return GatherFixed<1>(to, from, indices, rows);
    case 2:
      return GatherFixed<2>(to, from, indices, rows);
    case 4:
      return GatherFixed<4>(to, from, indices, rows);
    case 8:
      return GatherFixed<8>(to, from, indices, rows);
    case 16:
      return GatherFixed<16>(to, from, indices, rows);
    default:
      break;
  }
  // While these bytes are copied, a line comes from memory.
  constexpr size_t kBytesAhead = 2048;
  constexpr size_t kLine = 64;
  const auto ahead = static_cast<int64_t>(std::max<size_t>(kBytesAhead / (bytes + 1), 2));
  for (int64_t i = 0; i < rows; ++i) {
    if (i + ahead < rows) {
      const uint8_t* next = from + static_cast<size_t>(indices[i + ahead]) * bytes;
      for (size_t at = 0; at < bytes && at < 4096; at += kLine) Prefetch(next + at);
    }
    std::memcpy(to + static_cast<size_t>(i) * bytes, from + static_cast<size_t>(indices[i]) * bytes,
                bytes);
  }
}

}  // namespace penstock
