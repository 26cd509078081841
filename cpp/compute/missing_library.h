// The error of operations whose library is missing.
#pragma once

#include "data/error.h"

namespace penstock {

// "decode_png: this penstock was built without libpng; run: ... (or, for use outside of native
// functions: pip install pillow)"; `instead` is the text in brackets.
inline Error MissingLibrary(const char* op, const char* library, const char* package,
                            const char* instead) {
  return Error(ErrorKind::kRuntime,
               "{}: this penstock was built without {}; run: apt-get install {} && pip install "
               "--force-reinstall --no-binary penstock penstock ({})",
               std::string_view(op), std::string_view(library), std::string_view(package),
               std::string_view(instead));
}

}  // namespace penstock
