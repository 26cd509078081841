// Copies rows from anywhere in memory into consecutive memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "runtime/platform.h"

namespace penstock {

template <size_t kBytes, typename AddressOf>
void GatherFixed(uint8_t* to, int64_t rows, AddressOf address_of) {
  for (int64_t i = 0; i < rows; ++i) {
    std::memcpy(to + static_cast<size_t>(i) * kBytes, address_of(i), kBytes);
  }
}

// Copies rows of `bytes` each, the i-th from address_of(i), and prefetches later rows meanwhile.
template <typename AddressOf>
void GatherRows(uint8_t* to, size_t bytes, int64_t rows, AddressOf address_of) {
  switch (bytes) {
    case 1:
      return GatherFixed<1>(to, rows, address_of);
    case 2:
      return GatherFixed<2>(to, rows, address_of);
    case 4:
      return GatherFixed<4>(to, rows, address_of);
    case 8:
      return GatherFixed<8>(to, rows, address_of);
    case 16:
      return GatherFixed<16>(to, rows, address_of);
    default:
      break;
  }
  // While these bytes are copied, a line arrives from memory.
  constexpr size_t kBytesAhead = 2048;
  constexpr size_t kLine = 64;
  const auto ahead = static_cast<int64_t>(std::max<size_t>(kBytesAhead / (bytes + 1), 2));
  for (int64_t i = 0; i < rows; ++i) {
    if (i + ahead < rows) {
      const uint8_t* next = address_of(i + ahead);
      for (size_t at = 0; at < bytes && at < 4096; at += kLine) Prefetch(next + at);
    }
    std::memcpy(to + static_cast<size_t>(i) * bytes, address_of(i), bytes);
  }
}

// Copies the rows with these indices.
void GatherRows(uint8_t* to, const uint8_t* from, size_t bytes, const int64_t* indices,
                int64_t rows);

}  // namespace penstock
