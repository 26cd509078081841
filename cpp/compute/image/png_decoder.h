// Decoding one PNG into memory of the caller.
#pragma once

#include <cstdint>
#include <string_view>

#include "compute/image/png_header.h"
#include "compute/op.h"

namespace penstock {

struct PngOptions {
  int channels = 3;  // 1 gray, 2 gray and alpha, 3 RGB, 4 RGB and alpha
  int bits = 8;      // of a value: 8, or 16 in the order of this machine
};

// Fills window.height * window.width * channels values. Throws a DataError "decode_png: ...";
// nothing is ever printed. The window lies within the image.
void DecodePng(std::string_view contents, const PngHeader& header, const PngOptions& options,
               const ImageWindow& window, uint8_t* out);

}  // namespace penstock
