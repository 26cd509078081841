// Little-endian numbers in files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace penstock {

// A number of `count` bytes, at most 4.
inline uint32_t NumberAt(std::string_view bytes, size_t at, size_t count) {
  uint32_t number = 0;
  for (size_t i = count; i-- > 0;) number = number << 8 | static_cast<uint8_t>(bytes[at + i]);
  return number;
}

inline void AppendNumber(std::string& out, uint32_t number, size_t count) {
  for (size_t i = 0; i < count; ++i) out += static_cast<char>(number >> (8 * i));
}

}  // namespace penstock
