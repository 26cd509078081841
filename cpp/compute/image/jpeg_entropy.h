// An entropy decoder for baseline JPEGs that takes the place of libjpeg-turbo's.
#pragma once
#if defined(PENSTOCK_HAS_JPEG)

#include <memory>

#include "compute/image/jpeg_mcu.h"

namespace penstock {

// Replaces the entropy decoder of `info`, which has started to decompress and read no line, if ours
// decodes the image: coefficients, and with them pixels, warnings and errors, stay the same.
// Returns null otherwise. The source of `info` holds the data in memory, up to the end of the file.
// `always`: also for data so short that libjpeg is as fast.
std::unique_ptr<JpegMcus> DecodeEntropy(j_decompress_ptr info, JDIMENSION first_column,
                                        bool always = false);

}  // namespace penstock
#endif
