// An entropy decoder for baseline JPEGs that takes the place of libjpeg-turbo's.
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

// Replaces the entropy decoder of `info`, which has started to decompress and read no line, where
// the image is one that ours decodes: coefficients and with them pixels, warnings and errors stay
// the same. Null if it is not. The data are what its source holds in memory, to the end of the
// file. With an index of these, what is not shown is jumped over.
// `always`: of few data too, for which libjpeg is as fast, without tables as large.
std::unique_ptr<DecodedMcus> DecodeEntropy(j_decompress_ptr info, JDIMENSION first_column,
                                           const JpegIndex& index, bool always = false);

}  // namespace penstock
#endif
