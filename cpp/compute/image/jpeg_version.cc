// The version of the JPEG library, from its headers.
#include "compute/image/jpeg_version.h"

#include <string>
#if defined(PENSTOCK_HAS_JPEG)
#include "compute/image/libjpeg.h"
#endif

namespace penstock {

const char* JpegVersion() {
#if !defined(PENSTOCK_HAS_JPEG)
  return "";
#elif defined(LIBJPEG_TURBO_VERSION_NUMBER)
  static const std::string& version =
      *new std::string("libjpeg-turbo " + std::to_string(LIBJPEG_TURBO_VERSION_NUMBER / 1000000) +
                       "." + std::to_string(LIBJPEG_TURBO_VERSION_NUMBER / 1000 % 1000) + "." +
                       std::to_string(LIBJPEG_TURBO_VERSION_NUMBER % 1000));
  return version.c_str();
#else
  static const std::string& version =
      *new std::string("libjpeg API " + std::to_string(JPEG_LIB_VERSION));
  return version.c_str();
#endif
}

}  // namespace penstock
