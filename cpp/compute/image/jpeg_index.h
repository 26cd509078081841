// A baseline JPEG with an index of the positions of some of its MCUs in the data. With it, a window
// is decoded without the Huffman codes above it and on both sides.
//
// Other programs read it like any JPEG. A segment FF EF precedes its scan (SOS):
//   its length (2 bytes, big-endian as in all segments), kIndexMagic
//   the number of MCUs in a row per point (4); numbers are little-endian
//   the points, those of each row from its first MCU on: the bit of the data where the MCU begins
//     (4), and for each component the preceding DC coefficient (2)
//   the size of the segment (4), and the CRC-32C of the file without this number (4)
//
// An index is used only in exactly the file for which it was made, which was decoded then and is
// intact.
#pragma once
#if defined(PENSTOCK_HAS_JPEG)

#include <array>
#include <string>
#include <string_view>

#include "compute/image/libjpeg.h"

namespace penstock {

// The decoder state at the beginning of an MCU.
struct JpegPoint {
  size_t bit = 0;                           // of the data, counting stuffed zeros
  std::array<int, MAX_COMPS_IN_SCAN> dc{};  // the last DC coefficients
};

class JpegIndex {
 public:
  JpegIndex() = default;
  // The points of an image with `columns` MCUs in a row.
  JpegIndex(std::string_view points, JDIMENSION distance, JDIMENSION columns, int components)
      : points_(points),
        distance_(distance),
        per_row_((size_t{columns} + distance - 1) / distance),
        components_(components) {}

  explicit operator bool() const { return distance_ > 0; }
  JDIMENSION distance() const { return distance_; }  // between points
  // The last point in this row that is not after this column.
  JpegPoint At(JDIMENSION row, JDIMENSION column) const;

 private:
  std::string_view points_;
  JDIMENSION distance_ = 0;  // in MCUs
  size_t per_row_ = 0;       // in points
  int components_ = 0;
};

// The index of a JPEG whose data begin at byte `data`, which follows what `info` has read; false if
// it has no index, or one of another file. `jpeg` must outlive the result.
JpegIndex FindIndex(std::string_view jpeg, size_t data, const jpeg_decompress_struct& info);

// Adds an index to a JPEG. Empty if it already has one, is not an intact baseline JPEG, or is too
// small to benefit. `always`: also small ones, with a point for every MCU.
std::string IndexJpeg(std::string_view jpeg, bool always = false);

}  // namespace penstock
#endif
