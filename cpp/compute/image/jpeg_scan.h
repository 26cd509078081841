// The Huffman codes of a JPEG: what most of the time of decoding is spent with.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "compute/image/libjpeg.h"

namespace penstock {

// Decodes the only scan of a baseline image in two thirds of the time that libjpeg takes: without a
// branch that depends on a coefficient. What coefficients become is left to libjpeg.
class JpegScan {
 public:
  // For a decompressor that has started and has read nothing of such a scan; null for any other.
  static std::unique_ptr<JpegScan> Of(const jpeg_decompress_struct& info);
  // Has `decode` called for each MCU, instead of libjpeg's own function.
  static void Replace(j_decompress_ptr info, boolean (*decode)(j_decompress_ptr, JBLOCKROW*));

  // Puts the coefficients of the next MCU into its blocks, which are zero; null: it is passed over.
  // False where the bytes are not what they should be: libjpeg shall say what they mean.
  bool Next(JBLOCKROW* blocks);

 private:
  static constexpr int kLook = 9;  // bits
  static constexpr int kLongest = 16;

  // One table of codes. An entry is what begins with these bits, if the code is no longer.
  struct Codes {
    // False where it is no table of codes.
    bool Read(const JHUFF_TBL& table);
    std::array<uint32_t, 1 << kLook> entries{};
    std::array<int32_t, kLongest + 1> last{};    // code of each length; -1: there is none
    std::array<int32_t, kLongest + 1> symbol{};  // number of its first one's, less that code
    const uint8_t* symbols = nullptr;
  };
  struct Component {
    const Codes* differences;
    const Codes* coefficients;
    int32_t last = 0;  // the first coefficient of the block before
  };
  // The bits from a position on.
  struct Bits {
    uint64_t ahead = 0;  // from the highest one on
    int count = 0;       // of these
    const uint8_t* next = nullptr;
  };

  JpegScan() = default;
  // Up to the marker after it; false where there is none.
  bool CopyData(const uint8_t* begin, const uint8_t* end);
  static uint32_t EntryOf(const Codes& codes, Bits& bits);
  static bool ReadBlock(Component& component, Bits& ahead, JCOEF* block);

  std::vector<Codes> codes_;
  std::array<Component, MAX_COMPS_IN_SCAN> components_{};
  std::array<uint8_t, D_MAX_BLOCKS_IN_MCU> component_of_{};  // of each block of an MCU
  int blocks_ = 0;
  std::unique_ptr<uint8_t[]> data_;  // without the bytes that are stuffed in
  const uint8_t* end_ = nullptr;     // of it; kBeyond zeros follow
  Bits bits_;
};

}  // namespace penstock
