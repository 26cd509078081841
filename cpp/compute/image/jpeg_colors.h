// Replaces libjpeg's colour conversion.
#pragma once
#if defined(PENSTOCK_HAS_JPEG)

#include <memory>

#include "compute/image/libjpeg.h"
#include "compute/image/pixel_loops.h"

namespace penstock {

// libjpeg's internal struct for the conversion (jpegint.h, identical in all versions of
// libjpeg-turbo), and our conversion.
struct JpegColors {
  void (*start_pass)(j_decompress_ptr);
  void (*convert)(j_decompress_ptr, JSAMPIMAGE planes, JDIMENSION row, JSAMPARRAY out, int rows);
  decltype(PixelLoops::ycc_to_rgb) ycc_to_rgb;
};

// Replaces the conversion of `info`, which has started to decompress, where ours is faster; the
// pixels are identical. Null otherwise. The result must live as long as lines are read.
std::unique_ptr<JpegColors> ConvertColors(j_decompress_ptr info);

}  // namespace penstock
#endif
