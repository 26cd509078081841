// An entropy decoder for baseline JPEGs that takes the place of libjpeg-turbo's.
#pragma once
#if defined(PENSTOCK_HAS_JPEG)

#include <memory>

#include "compute/image/libjpeg.h"

namespace penstock {

// What libjpeg calls for the coefficients of each MCU (jpegint.h, the same in all versions of
// libjpeg-turbo, in libjpeg 6b, and in what was made of them).
struct JpegMcuSource {
  void (*start_pass)(j_decompress_ptr);
  // `blocks` are zero; null: the coefficients are not wanted.
  boolean (*decode_mcu)(j_decompress_ptr, JBLOCKROW* blocks);
  boolean insufficient_data;
};

class JpegEntropy {
 public:
  virtual ~JpegEntropy() = default;

  // Replaces the entropy decoder of `info`, which has started to decompress and not read a line,
  // where the image is one that ours decodes: coefficients and with them pixels, warnings and
  // errors stay the same. Null if it is not. `info`, which owns nothing of it, reads the columns
  // [first_column, first_column + columns) of the output. What is returned must live as long as
  // `info` is read.
  static std::unique_ptr<JpegEntropy> Replace(j_decompress_ptr info, JDIMENSION first_column);

 protected:
  JpegEntropy() = default;
};

}  // namespace penstock
#endif
