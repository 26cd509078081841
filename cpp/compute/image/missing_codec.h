// The error of operations whose codec is missing.
#pragma once

#include "compute/missing_library.h"

namespace penstock {

inline Error MissingCodec(const char* op, const char* library, const char* package) {
  return MissingLibrary(op, library, package,
                        "or, for use outside of native functions: pip install pillow");
}

}  // namespace penstock
