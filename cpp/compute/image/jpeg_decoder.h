// Decoding one JPEG into memory of the caller.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "compute/op.h"

namespace penstock {

// Which work of libjpeg ours takes the place of: what is quicker, all that it can do, or nothing,
// to compare them.
enum class JpegOurs : uint8_t { kWhereQuick, kAlways, kNever };

struct JpegOptions {
  int channels = 3;  // 1 or 3
  int ratio = 1;     // the size is divided by 1, 2, 4 or 8 in the inverse transform
  bool fancy_upscaling = true;
  bool accurate_idct = false;
  bool recover_truncated = false;  // missing data is made up from the data before it
  JpegOurs ours = JpegOurs::kWhereQuick;
  double acceptable_fraction = 1;  // of the rows; when an error leaves as many, the rest is black
};

// Decodes a region of the (reduced) image, whose full size is `whole`. `contents`, which outlive
// what is returned, are known to start with a frame header of that size. A damaged row throws a
// DataError "decode_jpeg: ..."; nothing is ever printed. Where damage is accepted, the pixels are
// those of decoding the whole image.
std::unique_ptr<Rows> DecodeJpeg(std::string_view contents, const JpegOptions& options,
                                 const Region& whole, const Region& region);

}  // namespace penstock
