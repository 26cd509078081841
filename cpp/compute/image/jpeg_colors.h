// Takes the place of libjpeg's conversion of colours.
#pragma once
#if defined(PENSTOCK_HAS_JPEG)

#include <memory>

#include "compute/image/libjpeg.h"
#include "compute/image/pixel_loops.h"

namespace penstock {

// The conversion of libjpeg as it sees it itself (jpegint.h, the same in all versions of
// libjpeg-turbo), and ours.
struct JpegColors {
  void (*start_pass)(j_decompress_ptr);
  void (*convert)(j_decompress_ptr, JSAMPIMAGE planes, JDIMENSION row, JSAMPARRAY out, int rows);
  decltype(PixelLoops::ycc_to_rgb) ycc_to_rgb;
};

// Replaces the conversion of `info`, which has started to decompress, where ours is quicker; the
// pixels stay the same. Null where it is not. What is returned lives as long as lines are read.
std::unique_ptr<JpegColors> ConvertColors(j_decompress_ptr info);

}  // namespace penstock
#endif
