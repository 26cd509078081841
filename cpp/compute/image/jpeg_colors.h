// Takes the place of libjpeg's conversion of colours.
#pragma once
#if defined(PENSTOCK_HAS_JPEG)

#include "compute/image/libjpeg.h"

namespace penstock {

// Of `info`, which has started to decompress, where ours is quicker. The pixels stay the same.
void ConvertColors(j_decompress_ptr info);

}  // namespace penstock
#endif
