// Finds and writes the index of a JPEG.
#if defined(PENSTOCK_HAS_JPEG)
#include "compute/image/jpeg_index.h"

#include <algorithm>
#include <vector>

#include "compute/image/jpeg_coefficients.h"
#include "compute/image/jpeg_scan.h"
#include "compute/image/little_endian.h"
#include "storage/crc32c.h"

namespace penstock {
namespace {

constexpr std::string_view kIndexStart = "\xFF\xEF";
constexpr std::string_view kIndexMagic{"penstock index of MCUs 1\0", 25};
constexpr size_t kIndexHead = kIndexStart.size() + 2 + kIndexMagic.size() + 4;  // up to the points
constexpr size_t kIndexChecksum = 4;
constexpr size_t kIndexTail = 4 + kIndexChecksum;  // after the points
constexpr size_t kMostIndex = 0xFFFF + 2;          // size of a segment with its marker
constexpr size_t kMostBytes = UINT32_MAX / 8;      // of a JPEG, because bits are counted

// Closer points save little: each row of a window wastes, on average, half the distance.
constexpr JDIMENSION kLeastDistance = 4;
constexpr size_t kLeastBytesPerByte = 20;  // of the JPEG, for each byte of the index

size_t BytesOfPoint(int components) { return 4 + 2 * static_cast<size_t>(components); }

size_t PointsOf(const jpeg_decompress_struct& info, size_t distance) {
  return info.MCU_rows_in_scan * ((info.MCUs_per_row + distance - 1) / distance);
}

// The position of the marker of the only scan, given the `data` after its header.
size_t ScanAt(size_t data, const jpeg_decompress_struct& info) {
  return data - (8 + 2 * static_cast<size_t>(info.comps_in_scan));
}

// The index segment that ends at `end`, for any file. Empty if there is none.
std::string_view SegmentBefore(std::string_view jpeg, size_t end) {
  if (end < kIndexHead + kIndexTail) return {};
  const size_t size = NumberAt(jpeg, end - kIndexTail, 4);
  if (size < kIndexHead + kIndexTail || size > std::min(end, kMostIndex)) return {};
  const std::string_view segment = jpeg.substr(end - size, size);
  const size_t length =
      size_t{static_cast<uint8_t>(segment[2])} << 8 | static_cast<uint8_t>(segment[3]);
  const bool sound = segment.starts_with(kIndexStart) && length == size - 2 &&
                     segment.substr(4).starts_with(kIndexMagic);
  return sound ? segment : std::string_view();
}

// The checksum of a file, from the parts before and after the stored checksum.
uint32_t ChecksumOf(std::string_view before, std::string_view after) {
  return Crc32c(after.data(), after.size(), Crc32c(before.data(), before.size()));
}

// Collects the points of a JPEG at the minimum distance.
class IndexWriter final : public JpegScan {
 public:
  IndexWriter(std::string_view jpeg, bool always)
      : JpegScan(jpeg), jpeg_(jpeg), always_(always), least_(always ? 1 : kLeastDistance) {}

  std::string Write() {
    if (!Read()) return {};
    points_.pop_back();  // the point after the last MCU
    const size_t scan = ScanAt(header_size(), info());
    const std::string_view old = SegmentBefore(jpeg_, scan);
    const std::string segment = Segment(jpeg_.size() - old.size());
    if (segment.empty()) return {};
    const std::string_view rest = jpeg_.substr(scan);
    std::string indexed;
    indexed.reserve(jpeg_.size() + kMostIndex);
    indexed.append(jpeg_.substr(0, scan - old.size())).append(segment);
    AppendNumber(indexed, ChecksumOf(indexed, rest), kIndexChecksum);
    return indexed.append(rest);
  }

 private:
  bool Take(JDIMENSION column, const JBLOCK*) override {
    if (points_.empty()) {
      if (FindIndex(jpeg_, header_size(), info())) return false;
      points_.push_back({});
    }
    const JDIMENSION next = column + 1 == info().MCUs_per_row ? 0 : column + 1;
    if (next % least_ == 0) points_.push_back(Next());
    return true;
  }

  // The segment without its checksum; empty if it cannot be small enough.
  std::string Segment(size_t bytes) const {
    const JDIMENSION columns = info().MCUs_per_row;
    const size_t most = always_ ? kMostIndex : std::min(bytes / kLeastBytesPerByte, kMostIndex);
    for (JDIMENSION distance = least_;; distance *= 2) {
      const size_t size =
          kIndexHead + kIndexTail + PointsOf(info(), distance) * BytesOfPoint(info().comps_in_scan);
      if (size <= most) return SegmentOf(distance, size);
      if (distance >= columns) return {};
    }
  }

  std::string SegmentOf(JDIMENSION distance, size_t size) const {
    std::string segment(kIndexStart);
    segment += static_cast<char>((size - 2) >> 8);
    segment += static_cast<char>(size - 2);
    segment += kIndexMagic;
    AppendNumber(segment, distance, 4);
    const size_t known = points_.size() / info().MCU_rows_in_scan;  // points in a row
    for (size_t i = 0; i < points_.size(); ++i) {
      if (i % known % (distance / least_) == 0) AppendPoint(segment, points_[i]);
    }
    AppendNumber(segment, static_cast<uint32_t>(size), 4);
    return segment;
  }

  void AppendPoint(std::string& segment, const JpegPoint& point) const {
    AppendNumber(segment, static_cast<uint32_t>(point.bit), 4);
    for (int i = 0; i < info().comps_in_scan; ++i) {
      AppendNumber(segment, static_cast<uint16_t>(point.dc[static_cast<size_t>(i)]), 2);
    }
  }

  const std::string_view jpeg_;
  const bool always_;
  const JDIMENSION least_;  // distance between collected points
  std::vector<JpegPoint> points_;
};

}  // namespace

JpegPoint JpegIndex::At(JDIMENSION row, JDIMENSION column) const {
  const size_t number = row * per_row_ + column / distance_;
  size_t at = number * BytesOfPoint(components_);
  JpegPoint point;
  point.bit = NumberAt(points_, at, 4);
  at += 4;
  for (int i = 0; i < components_; ++i, at += 2) {
    point.dc[static_cast<size_t>(i)] = static_cast<int16_t>(NumberAt(points_, at, 2));
  }
  return point;
}

JpegIndex FindIndex(std::string_view jpeg, size_t data, const jpeg_decompress_struct& info) {
  const size_t end = ScanAt(data, info);
  std::string_view segment = SegmentBefore(jpeg, end);
  if (segment.empty()) return {};
  const size_t checksum_at = end - kIndexChecksum;
  const uint32_t checksum = ChecksumOf(jpeg.substr(0, checksum_at), jpeg.substr(end));
  if (NumberAt(jpeg, checksum_at, kIndexChecksum) != checksum) return {};
  const uint32_t distance = NumberAt(segment, kIndexHead - 4, 4);
  segment = segment.substr(kIndexHead, segment.size() - kIndexHead - kIndexTail);
  if (distance == 0 ||
      segment.size() != PointsOf(info, distance) * BytesOfPoint(info.comps_in_scan)) {
    return {};
  }
  return {segment, distance, info.MCUs_per_row, info.comps_in_scan};
}

std::string IndexJpeg(std::string_view jpeg, bool always) {
  if (IsStored(jpeg) || jpeg.size() > kMostBytes) return {};
  return IndexWriter(jpeg, always).Write();
}

}  // namespace penstock
#endif
