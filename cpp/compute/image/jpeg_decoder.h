// Decodes one JPEG into the caller's memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "compute/op.h"

namespace penstock {

// Which parts of libjpeg are replaced by ours: those where ours is faster, all that are supported,
// or none, for comparison.
enum class JpegOurs : uint8_t { kWhereQuick, kAlways, kNever };

struct JpegOptions {
  int channels = 3;  // 1 or 3
  int ratio = 1;     // the inverse transform divides the size by 1, 2, 4 or 8
  bool fancy_upscaling = true;
  bool accurate_idct = false;
  bool recover_truncated = false;  // missing data is extrapolated from the preceding data
  JpegOurs ours = JpegOurs::kWhereQuick;
  double acceptable_fraction = 1;  // rows to keep after an error; the rest is black
};

// Decodes a region of the (reduced) image, whose full size is `whole`. `contents` must start with a
// frame header of that size, and outlive the result. A damaged row throws a DataError "decode_jpeg:
// ..."; nothing is ever printed. If damage is accepted, the pixels are those of decoding the whole
// image.
std::unique_ptr<Rows> DecodeJpeg(std::string_view contents, const JpegOptions& options,
                                 const Region& whole, const Region& region);

}  // namespace penstock
