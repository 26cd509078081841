// A JPEG whose coefficients are stored so that they are read at once, instead of as Huffman codes.
//
// It has the segments of the JPEG, so that all that looks at headers takes it for one:
//   FF D8, then a segment FF EF: kMagic, the marker of the frame (1 byte), where it stands in the
//     JPEG (4), how long the JPEG is up to its data (4); numbers are little-endian
//   the JPEG from byte 2 up to its data, with kFrame as the marker of the frame: other programs
//     refuse it
//   the number of steps for one coefficient, and for two (1 byte each), and those steps
//   where the MCUs of each row begin, counted from the first, and where the last ones end (4 each)
//   the blocks, in the order of the scan
//   the CRC-32C of all before it (4)
//
// A block is its DC coefficient (less the last one of its component in this row) + 127 as a byte,
// or 255 and 2 bytes; then steps: the number of one, or kOther, 1 byte of zeros and 2 bytes of the
// value. A coefficient is the zeros before it (1 byte, its highest bit set if it is the last one of
// its block) and its value (2 bytes). Step 0 is for a block that has no other coefficients.
#pragma once
#if defined(PENSTOCK_HAS_JPEG)

#include <memory>
#include <string>
#include <string_view>

#include "compute/image/jpeg_mcu.h"

namespace penstock {

inline constexpr std::string_view kStoredStart = "\xFF\xD8\xFF\xEF";
inline constexpr std::string_view kStoredMagic{"penstock coefficients 1\0", 24};
inline constexpr uint8_t kStoredFrame = 0xCB;  // SOF11, which no libjpeg decodes
inline constexpr uint8_t kStoredOther = 255, kStoredLast = 128;
inline constexpr int kStoredMostSteps = 254;  // besides step 0
inline constexpr size_t kStoredNumber = 4;    // bytes
inline constexpr int kStoredNearest = 127;    // the largest difference of DC coefficients in a byte

bool IsStored(std::string_view contents);

// What is stored, when it was found to be intact.
struct StoredCoefficients {
  std::string header;      // the JPEG, up to its data
  std::string_view steps;  // with the numbers of them
  std::string_view rows;   // where they begin, and all that is after it but the checksum
};

// Throws a DataError "decode_jpeg: ..." for what is damaged.
StoredCoefficients OpenStored(std::string_view contents);

// Reads them in the place of libjpeg's entropy decoder. Throws a DataError where they are not those
// of an image as `info` has it. `stored` outlives what is returned.
std::unique_ptr<JpegMcus> ReadStored(j_decompress_ptr info, JDIMENSION first_column,
                                     const StoredCoefficients& stored);

// What is stored of a JPEG. Empty if it is not an intact baseline one, or too small to pay.
std::string StoreCoefficients(std::string_view jpeg);

}  // namespace penstock
#endif
