// Decoding one JPEG into memory of the caller.
#pragma once

#include <cstdint>
#include <string_view>

#include "compute/op.h"

namespace penstock {

struct JpegOptions {
  int channels = 3;  // 1 or 3
  int ratio = 1;     // the size is divided by 1, 2, 4 or 8 in the inverse transform
  bool fancy_upscaling = true;
  bool accurate_idct = false;
  bool recover_truncated = false;  // missing data is made up from the data before it
  double acceptable_fraction = 1;  // of the rows; when an error leaves as many, the rest is black
};

// `window` is one of the decoded (and reduced) image. Fills window.height * window.width * channels
// bytes. Throws a DataError "decode_jpeg: ..."; nothing is ever printed. `contents` is known to
// start with a frame header of a size that `window` lies within.
void DecodeJpeg(std::string_view contents, const JpegOptions& options, const ImageWindow& window,
                uint8_t* out);

// The same without an exception: true when the file was sound as far as it was read, and then the
// values are those of decoding everything. What is made of damage depends on where decoding begins.
bool DecodeSoundJpeg(std::string_view contents, const JpegOptions& options,
                     const ImageWindow& window, uint8_t* out);

}  // namespace penstock
