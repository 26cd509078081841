// The usual beginning of an entry in an example's map.
#include "compute/io/entry_head.h"

#include <cstring>

namespace penstock {

EntryHead::EntryHead(std::string_view key, uint32_t kind) {
  constexpr size_t kAround = 6, kList = 4;  // bytes that belong neither to the key nor to values
  const size_t size = key.size() + kAround + (kind ? kList : 0);
  if (size > kSpan) return;
  size_ = size;
  std::memset(counted_ + kSpan, 0xFF, size);
  size_t at = 0;
  auto byte = [&](size_t value) { bytes_[kSpan + at++] = static_cast<uint8_t>(value); };
  auto length = [&] {
    lengths_[kSpan + at] = 0xFF;
    byte(size - at - 1);
  };
  byte(BytesTag(1));
  most_ = 0x7F - (size - at - 1);
  length();
  byte(BytesTag(1));
  byte(key.size());
  for (char letter : key) byte(static_cast<uint8_t>(letter));
  byte(BytesTag(2));
  length();
  if (kind == 0) return;
  byte(kind);
  length();
  byte(BytesTag(1));
  length();
}

}  // namespace penstock
