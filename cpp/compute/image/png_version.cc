// The version of the PNG library, from its headers.
#include "compute/image/png_version.h"

#if defined(PENSTOCK_HAS_PNG)
#include <png.h>
#endif

namespace penstock {

const char* PngVersion() {
#if defined(PENSTOCK_HAS_PNG)
  return "libpng " PNG_LIBPNG_VER_STRING;
#else
  return "";
#endif
}

}  // namespace penstock
