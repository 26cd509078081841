// A JPEG whose coefficients are stored in directly readable form instead of as Huffman codes.
//
// It contains the segments of the JPEG, so that code which only reads headers accepts it:
//   FF D8, then a segment FF EF: kStoredMagic, the marker of the frame (1 byte), its position in
//   the
//     JPEG (4), the size of the JPEG up to its data (4); numbers are little-endian
//   the JPEG from byte 2 up to its data, with kStoredFrame as the marker of the frame, which makes
//     other programs refuse it
//   the numbers of steps for one coefficient and for two (1 byte each), and those steps
//   the offset of the MCUs of each row, relative to the first, and the end of the last row (4 each)
//   the blocks, in the order of the scan
//   the CRC-32C of everything before it (4)
//
// A block begins with its DC coefficient, minus the previous one of its component in this row: a
// byte with 127 added, or 255 and 2 bytes. Steps follow: the number of a step, or kStoredOther, 1
// byte of zeros and a 2-byte value. A coefficient is stored as the number of zeros before it (1
// byte, whose highest bit marks the last coefficient of its block) and its value (2 bytes). Step 0
// is for a block without further coefficients.
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
inline constexpr int kStoredMostSteps = 254;  // in addition to step 0
inline constexpr size_t kStoredNumber = 4;    // in bytes
inline constexpr int kStoredNearest = 127;    // the largest DC difference stored in one byte

bool IsStored(std::string_view contents);

// The stored parts, after their checksum was verified.
struct StoredCoefficients {
  std::string header;      // the JPEG up to its data
  std::string_view steps;  // preceded by their numbers
  std::string_view rows;   // the row offsets and everything after them, except the checksum
};

// Throws a DataError "decode_jpeg: ..." if the contents are damaged.
StoredCoefficients OpenStored(std::string_view contents);

// Supplies the coefficients in place of libjpeg's entropy decoder. Throws a DataError if they
// cannot belong to an image with the header `info`. `stored` must outlive the result.
std::unique_ptr<JpegMcus> ReadStored(j_decompress_ptr info, JDIMENSION first_column,
                                     const StoredCoefficients& stored);

// The stored form of a JPEG. Empty if it is not an intact baseline JPEG, or too small to benefit.
std::string StoreCoefficients(std::string_view jpeg);

}  // namespace penstock
#endif
