// Decodes one PNG into the caller's memory.
#pragma once

#include <memory>
#include <string_view>

#include "compute/image/png_header.h"
#include "compute/op.h"

namespace penstock {

struct PngOptions {
  int channels = 3;  // 1 gray, 2 gray and alpha, 3 RGB, 4 RGB and alpha
  int bits = 8;      // per value: 8, or 16 in native byte order
};

// Decodes a region, which lies within the image. `contents` must outlive the result. A damaged row
// throws a DataError "decode_png: ..."; nothing is ever printed.
std::unique_ptr<Rows> DecodePng(std::string_view contents, const PngHeader& header,
                                const PngOptions& options, const Region& region);

}  // namespace penstock
