// An entropy decoder for baseline JPEGs that replaces libjpeg-turbo's.
#pragma once
#if defined(PENSTOCK_HAS_JPEG)

#include <memory>

#include "compute/image/jpeg_mcu.h"

namespace penstock {

// Replaces the entropy decoder of `info`, which has started to decompress and read no line. The
// coefficients, and therefore pixels, warnings and errors, stay the same. Null if our decoder does
// not support the image. Decodes the data in the memory of the source of `info`, up to the end of
// the file. `always`: also for small data, for which libjpeg is as fast.
std::unique_ptr<JpegMcus> DecodeEntropy(j_decompress_ptr info, JDIMENSION first_column,
                                        bool always = false);

}  // namespace penstock
#endif
