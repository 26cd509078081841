// The header of a PNG, read without decoding.
#pragma once

#include <cstdint>
#include <string_view>

namespace penstock {

struct PngHeader {
  int64_t height, width;  // in pixels
  int bit_depth;          // of a sample, or of a palette index
  int channels;           // after resolving a palette
  bool has_palette;
  bool interlaced;

  int64_t row_bytes() const { return (width * bit_depth * (has_palette ? 1 : channels) + 7) / 8; }
};

// The eight bytes that every PNG starts with.
bool StartsAsPng(std::string_view contents);

// Throws a DataError of `op` if `contents` is not a PNG or ends before its data.
PngHeader ReadPngHeader(const char* op, std::string_view contents);

}  // namespace penstock
