// Walks the marker segments of a JPEG up to the frame header (ITU-T T.81, annex B).
#include "compute/image/jpeg_header.h"

#include "compute/image/image_file.h"
#include "data/error.h"

namespace penstock {
namespace {

enum Marker : uint8_t {
  kTem = 0x01,
  kFirstSof = 0xC0,
  kDht = 0xC4,
  kFirstArithmetic = 0xC8,
  kJpg = 0xC8,
  kDac = 0xCC,
  kLastSof = 0xCF,
  kRst0 = 0xD0,
  kRst7 = 0xD7,
  kSoi = 0xD8,
  kEoi = 0xD9,
  kSos = 0xDA,
};

bool IsFrame(uint8_t marker) {
  return marker >= kFirstSof && marker <= kLastSof && marker != kDht && marker != kJpg &&
         marker != kDac;
}

class SegmentWalk {
 public:
  SegmentWalk(const char* op, std::string_view contents) : op_(op), contents_(contents) {}

  JpegHeader FindFrame() {
    at_ = 2;  // after SOI
    for (;;) {
      uint8_t marker = NextMarker();
      if (marker == kSos || marker == kEoi || marker == kSoi) {
        throw Error(ErrorKind::kData, "{}: contents are corrupt: no frame header before byte {}",
                    std::string_view(op_), at_);
      }
      if (marker == kTem || (marker >= kRst0 && marker <= kRst7)) continue;
      size_t length = Word(at_);
      if (length < 2) {
        throw Error(ErrorKind::kData, "{}: contents are corrupt: a segment of {} bytes at byte {}",
                    std::string_view(op_), length, at_);
      }
      if (IsFrame(marker)) {
        return {static_cast<int64_t>(Word(at_ + 3)), static_cast<int64_t>(Word(at_ + 5)),
                Byte(at_ + 7), marker < kFirstArithmetic};
      }
      at_ += length;
    }
  }

 private:
  uint8_t Byte(size_t at) const {
    if (at >= contents_.size()) {
      throw Error(ErrorKind::kData, "{}: contents are truncated: {} bytes end within the header",
                  std::string_view(op_), contents_.size());
    }
    return static_cast<uint8_t>(contents_[at]);
  }
  size_t Word(size_t at) const { return size_t{Byte(at)} << 8 | Byte(at + 1); }

  // Like libjpeg, skips fill bytes and bytes that are not markers.
  uint8_t NextMarker() {
    uint8_t code = 0;
    while (code == 0) {
      while (Byte(at_) != 0xFF) ++at_;
      while (Byte(at_) == 0xFF) ++at_;
      code = Byte(at_++);
    }
    return code;
  }

  const char* op_;
  std::string_view contents_;
  size_t at_ = 0;
};

}  // namespace

bool StartsAsJpeg(std::string_view contents) { return contents.starts_with("\xFF\xD8\xFF"); }

JpegHeader ReadJpegHeader(const char* op, std::string_view contents) {
  if (!contents.starts_with("\xFF\xD8")) ThrowNoSuchFile(op, "a JPEG", contents);
  JpegHeader header = SegmentWalk(op, contents).FindFrame();
  if (header.height <= 0 || header.width <= 0 || header.components <= 0) {
    throw Error(ErrorKind::kData,
                "{}: contents are corrupt: the header says {} rows, {} columns, {} components",
                std::string_view(op), header.height, header.width, header.components);
  }
  return header;
}

}  // namespace penstock
