// Decoding one PNG into memory of the caller.
#pragma once

#include <memory>
#include <string_view>

#include "compute/image/png_header.h"
#include "compute/op.h"

namespace penstock {

struct PngOptions {
  int channels = 3;  // 1 gray, 2 gray and alpha, 3 RGB, 4 RGB and alpha
  int bits = 8;      // of a value: 8, or 16 in the order of this machine
};

// Decodes a region, which lies within the image. `contents` outlive what is returned. A damaged row
// throws a DataError "decode_png: ..."; nothing is ever printed.
std::unique_ptr<Rows> DecodePng(std::string_view contents, const PngHeader& header,
                                const PngOptions& options, const Region& region);

}  // namespace penstock
