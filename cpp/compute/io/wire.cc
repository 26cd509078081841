// Protocol buffers' wire format: the rare cases.
#include "compute/io/wire.h"

#include <vector>

#include "data/error.h"

namespace penstock {
namespace {

constexpr uint32_t kStartGroup = 3;
constexpr uint32_t kEndGroup = 4;
constexpr size_t kDeepest = 100;  // nesting of groups, the limit of Google's parsers

}  // namespace

uint64_t WireReader::LongVarint() {
  uint64_t value = 0;
  const uint8_t* start = at_;
  for (int shift = 0; shift < 70; shift += 7) {
    if (at_ == end_) throw WireError{"a number is cut off", start};
    uint8_t byte = *at_++;
    value |= uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return value;
  }
  throw WireError{"a number is longer than 10 bytes", start};
}

uint32_t WireReader::LongTag() {
  const uint8_t* start = at_;
  uint64_t tag = Varint();
  if (tag > UINT32_MAX || tag >> 3 == 0 || (tag & 7) > 5) {
    throw WireError{Format("{} is no tag of a field", tag), start};
  }
  return static_cast<uint32_t>(tag);
}

const uint8_t* WireReader::Fixed(size_t size) {
  if (static_cast<size_t>(end_ - at_) < size) throw WireError{"a number is cut off", at_};
  const uint8_t* value = at_;
  at_ += size;
  return value;
}

void WireReader::SkipValue(uint32_t tag) {
  switch (tag & 7) {
    case 0:
      Varint();
      return;
    case 1:
      Fixed(8);
      return;
    case 2:
      Bytes();
      return;
    default:
      Fixed(4);
  }
}

void WireReader::Skip(uint32_t tag) {
  if ((tag & 7) == kEndGroup) throw WireError{"a group ends that did not begin", at_};
  if ((tag & 7) == kStartGroup)
    SkipGroup(tag >> 3);
  else
    SkipValue(tag);
}

void WireReader::SkipGroup(uint32_t field) {
  std::vector<uint32_t> open{field};
  while (!open.empty()) {
    if (done()) throw WireError{"a group does not end", at_};
    uint32_t tag = Tag();
    if ((tag & 7) == kStartGroup) {
      if (open.size() == kDeepest) throw WireError{"groups are nested too deep", at_};
      open.push_back(tag >> 3);
    } else if ((tag & 7) == kEndGroup) {
      if (tag >> 3 != open.back()) throw WireError{"a group ends that did not begin", at_};
      open.pop_back();
    } else {
      SkipValue(tag);
    }
  }
}

void WireReader::ThrowLength(uint64_t length, const uint8_t* place) const {
  throw WireError{Format("a length of {} bytes is given where {} are left", length, end_ - at_),
                  place};
}

}  // namespace penstock
