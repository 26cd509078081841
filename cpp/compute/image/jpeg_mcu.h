// The sources of MCUs that libjpeg reads in order: the coefficients of some blocks of each
// component.
#pragma once
#if defined(PENSTOCK_HAS_JPEG)

#include <array>
#include <cstdint>
#include <memory>

#include "compute/image/libjpeg.h"

namespace penstock {

// Natural positions of coefficients in zigzag order. Positions after the 64th are for coefficients
// that would lie outside a block: up to three steps of less than 64 each then write to its last
// coefficient.
inline constexpr auto kNatural = [] {
  constexpr uint8_t kOrder[DCTSIZE2] = {
      0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
      41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
      30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};
  std::array<uint8_t, 4 * DCTSIZE2> natural{};
  for (size_t i = 0; i < natural.size(); ++i) {
    natural[i] = i < DCTSIZE2 ? kOrder[i] : uint8_t{DCTSIZE2 - 1};
  }
  return natural;
}();

// libjpeg's internal struct for the entropy decoder (jpegint.h, identical in all versions of
// libjpeg-turbo, in libjpeg 6b, and in its derivatives).
struct JpegMcuDecoder {
  void (*start_pass)(j_decompress_ptr);
  // `blocks` are zero; null: the coefficients are not needed.
  boolean (*decode_mcu)(j_decompress_ptr, JBLOCKROW* blocks);
  boolean insufficient_data;
};

inline JpegMcuDecoder* McuDecoderOf(j_decompress_ptr info) {
  return reinterpret_cast<JpegMcuDecoder*>(info->entropy);
}
inline void SetMcuDecoder(j_decompress_ptr info, JpegMcuDecoder* decoder) {
  info->entropy = reinterpret_cast<jpeg_entropy_decoder*>(decoder);
}

// Replaces libjpeg's entropy decoder. Must live as long as lines are read.
class JpegMcus : public JpegMcuDecoder {
 public:
  virtual ~JpegMcus() = default;
  JpegMcus(const JpegMcus&) = delete;
  JpegMcus& operator=(const JpegMcus&) = delete;

 protected:
  struct Block {
    int component;
    bool wanted;    // by the requested colours
    bool dc_alone;  // it becomes one pixel
  };

  // `info` has started to decompress its only scan, and read no line. It reads the columns of the
  // output from first_column on.
  JpegMcus(const jpeg_decompress_struct& info, JDIMENSION first_column);

  // Whether any part of the next MCU is shown.
  bool Wanted(const JBLOCKROW* blocks) const {
    return blocks && column_ >= first_wanted_ && column_ < end_wanted_;
  }

  JDIMENSION columns_, column_ = 0;  // in MCUs; the next one
  JDIMENSION first_wanted_, end_wanted_;
  int block_count_;
  std::array<Block, D_MAX_BLOCKS_IN_MCU> blocks_{};
  std::array<int, MAX_COMPS_IN_SCAN> dc_{};  // the last DC coefficients
  JBLOCK unwanted_;                          // for skipped coefficients
};

// Whether a scan contains a complete baseline JPEG, in MCUs of all components.
bool IsBaseline(j_decompress_ptr info);

}  // namespace penstock
#endif
