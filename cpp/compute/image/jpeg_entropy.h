// An entropy decoder for baseline JPEGs that takes the place of libjpeg-turbo's.
#pragma once
#if defined(PENSTOCK_HAS_JPEG)

#include "compute/image/jpeg_mcu.h"

namespace penstock {

// Replaces the entropy decoder of `info`, which has started to decompress and read no line, where
// the image is one that ours decodes: coefficients and with them pixels, warnings and errors stay
// the same. Null if it is not. The data are what its source holds in memory, to the end of the
// file.
// `always`: of few data too, for which libjpeg is as fast, without tables as large.
std::unique_ptr<JpegMcus> DecodeEntropy(j_decompress_ptr info, JDIMENSION first_column,
                                        bool always = false);

}  // namespace penstock
#endif
