// An entropy decoder for baseline JPEGs that replaces libjpeg-turbo's.
#pragma once
#if defined(PENSTOCK_HAS_JPEG)

#include <memory>

#include "compute/image/jpeg_index.h"
#include "compute/image/jpeg_mcu.h"

namespace penstock {

class DecodedMcus : public JpegMcus {
 public:
  virtual JpegPoint Next() const = 0;  // where the next MCU begins

 protected:
  using JpegMcus::JpegMcus;
};

// Replaces the entropy decoder of `info`, which has started to decompress and read no line. The
// coefficients, and therefore pixels, warnings and errors, stay the same. Null if our decoder does
// not support the image. Decodes the data in the memory of the source of `info`, up to the end of
// the file. With an index of these data, MCUs that are not shown are skipped. `always`: also for
// small data, for which libjpeg is as fast, without such large tables.
std::unique_ptr<DecodedMcus> DecodeEntropy(j_decompress_ptr info, JDIMENSION first_column,
                                           const JpegIndex& index, bool always = false);

}  // namespace penstock
#endif
