// A baseline JPEG that says where in its data some of its MCUs begin: a window is decoded without
// the Huffman codes above it and beside it.
//
// For all other programs it is a JPEG as before. In front of its scan (SOS) stands a segment FF EF:
//   its length (2 bytes, big-endian as in all segments), kIndexMagic
//   how many MCUs of a row one point is for (4); numbers are little-endian
//   the points, those of each row from its first MCU on: the bit of the data where the MCU begins
//     (4), and of each component the DC coefficient before it (2)
//   the size of the segment (4), and the CRC-32C of the file without this number (4)
//
// It is believed only in the very file that it was made for, which was decoded then, and is sound.
#pragma once
#if defined(PENSTOCK_HAS_JPEG)

#include <array>
#include <string>
#include <string_view>

#include "compute/image/libjpeg.h"

namespace penstock {

// What decoding an MCU depends on.
struct JpegPoint {
  size_t bit = 0;                           // of the data, stuffed zeros included
  std::array<int, MAX_COMPS_IN_SCAN> dc{};  // the last coefficients
};

class JpegIndex {
 public:
  JpegIndex() = default;
  // Of the points of an image with as many MCUs in a row.
  JpegIndex(std::string_view points, JDIMENSION distance, JDIMENSION columns, int components)
      : points_(points),
        distance_(distance),
        per_row_((size_t{columns} + distance - 1) / distance),
        components_(components) {}

  explicit operator bool() const { return distance_ > 0; }
  JDIMENSION distance() const { return distance_; }  // from one to the next
  // The last one in this row that is not after this column.
  JpegPoint At(JDIMENSION row, JDIMENSION column) const;

 private:
  std::string_view points_;
  JDIMENSION distance_ = 0;  // MCUs
  size_t per_row_ = 0;       // points
  int components_ = 0;
};

// The index of a JPEG whose data begin at that byte, after what `info` has read; false if it has
// none that is of this file. `jpeg` outlives what is returned.
JpegIndex FindIndex(std::string_view jpeg, size_t data, const jpeg_decompress_struct& info);

// A JPEG with its index. Empty if it has one, if it is not an intact baseline one, or too small to
// pay. `always`: of small ones too, with a point for every MCU.
std::string IndexJpeg(std::string_view jpeg, bool always = false);

}  // namespace penstock
#endif
