// libpng's header, and errors as jumps: their text is kept, and nothing is printed.
#pragma once

#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>

namespace penstock {

// libpng's error pointer. A jump may leave any function that calls libpng, so none may have an
// object with a destructor.
struct PngErrors {
  std::jmp_buf escape;
  char text[120] = "";

  [[noreturn]] static void OnError(png_structp png, png_const_charp message) {
    auto& self = *static_cast<PngErrors*>(png_get_error_ptr(png));
    size_t size = std::min(std::strlen(message), sizeof(self.text) - 1);
    std::memcpy(self.text, message, size);
    self.text[size] = 0;
    std::longjmp(self.escape, 1);
  }
  static void OnWarning(png_structp, png_const_charp) {}
};

}  // namespace penstock
