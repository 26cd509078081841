// What stands in for operations whose library is not there.
#pragma once

#include "element/error.h"

namespace penstock {

// "decode_png: this penstock was built without libpng; run: ..."
inline Error MissingCodec(const char* op, const char* library, const char* package) {
  return Error(ErrorKind::kRuntime,
               "{}: this penstock was built without {}; run: apt-get install {} && pip install "
               "--force-reinstall --no-binary penstock penstock (or, for use outside of native "
               "functions: pip install pillow)",
               std::string_view(op), std::string_view(library), std::string_view(package));
}

}  // namespace penstock
