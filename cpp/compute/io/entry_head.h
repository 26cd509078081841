// The usual beginning of an entry in an example's map.
#pragma once

#include <cstdint>
#include <string_view>

#include "compute/io/wire.h"

namespace penstock {

// Before its values, an entry consists of tags, the key and lengths:
//
//   1, length of the entry, 1, length of the key, the key, 2, length of the feature,
//   kind of the list, its length, 1, length of the values
//
// In an entry below 130 bytes each length takes one byte, and the last length determines the
// others. So all of these bytes are compared with their expected values in one step.
class EntryHead {
 public:
  static constexpr size_t kSpan = 32;  // number of compared bytes

  // Matches no entry.
  EntryHead() = default;
  // For a list with tag `kind`. 0: any kind; the last length is then that of the feature.
  EntryHead(std::string_view key, uint32_t kind);

  size_t size() const { return size_; }
  // Whether an entry at `at`, in a map that ends at `end` and has at least kSpan bytes, begins with
  // this head; `length` more bytes of the entry then follow.
  bool Begins(const uint8_t* at, const uint8_t* end, size_t& length) const {
    const auto left = static_cast<size_t>(end - at);
    if (left < size_) return false;
    length = at[size_ - 1];
    if (length > most_ || length > left - size_) return false;
    // Near the end of the map, bytes before `at` are read instead of those after it.
    const size_t before = left < kSpan ? kSpan - left : 0;
    const uint8_t* const here = at - before;
    const size_t from = kSpan - before;
    const auto follows = static_cast<uint8_t>(length);
    // Compilers vectorise this loop.
    uint8_t differs[kSpan];
    for (size_t i = 0; i < kSpan; ++i) {
      const auto expected = static_cast<uint8_t>(bytes_[from + i] + (lengths_[from + i] & follows));
      differs[i] = static_cast<uint8_t>((here[i] ^ expected) & counted_[from + i]);
    }
    uint64_t any = 0;
    for (size_t i = 0; i < kSpan; i += sizeof any) any |= WordAt(differs + i);
    return any == 0;
  }

 private:
  size_t size_ = SIZE_MAX;
  size_t most_ = 0;  // maximum number of bytes after it in the entry
  // The head is in the second half. Its lengths do not include the bytes after the head.
  uint8_t bytes_[2 * kSpan] = {};
  uint8_t lengths_[2 * kSpan] = {};  // 0xFF: the number of bytes after the head is added
  uint8_t counted_[2 * kSpan] = {};  // 0xFF: compared
};

}  // namespace penstock
