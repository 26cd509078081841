// The rare cases of reading bits: 0xFF, markers, and the end.
#include "compute/image/jpeg_bits.h"

#include <cstring>

namespace penstock {
namespace {

// libjpeg reads fewer bytes than this ahead of the bits that it needs. If it reads to the end of
// the memory, it reports truncated data, even if it may have all that it needs.
constexpr ptrdiff_t kTail = 64;

}  // namespace

JpegBits JpegBits::RefilledByBytes(JpegBits bits) {
  for (; bits.count_ < 56; bits.count_ += 8) {
    if (bits.AtMarker()) {
      bits.padding_ += 8;
      continue;
    }
    const uint64_t byte = *bits.next_++;
    if (byte == 0xFF) ++bits.next_;  // the stuffed zero
    bits.bits_ |= byte << (56 - bits.count_);
  }
  bits.FindPlain();
  return bits;
}

// Any marker ends the segment; its presence does not matter before its bits are needed.
bool JpegBits::AtMarker() {
  if (next_ == end_) return true;
  return *next_ == 0xFF && (end_ - next_ < 2 || next_[1] != 0);
}

void JpegBits::FindPlain() {
  const ptrdiff_t left = end_ - next_;
  if (left > kTail) {
    const void* found = std::memchr(next_, 0xFF, static_cast<size_t>(left - kTail));
    plain_ = found ? static_cast<const uint8_t*>(found) : end_ - kTail;
    return;
  }
  plain_ = next_;
  // Without a marker, reading runs into the end of the memory; after two 0xFF, data may follow.
  for (const uint8_t* at = next_; !ends_ && at + 1 < end_; ++at) {
    ends_ = at[0] == 0xFF && at[1] != 0 && at[1] != 0xFF;
    if (at[0] == 0xFF && at[1] == 0xFF) break;
  }
  odd_ |= !ends_;
}

bool JpegBits::Restart(uint8_t code) {
  if (!Sound() || count_ - padding_ >= 8) return false;
  if (end_ - next_ < 2 || next_[0] != 0xFF || next_[1] != code) return false;
  *this = JpegBits(next_ + 2, end_);
  return true;
}

}  // namespace penstock
