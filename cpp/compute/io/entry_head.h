// How most entries of an example's map begin.
#pragma once

#include <cstdint>
#include <string_view>

#include "compute/io/wire.h"

namespace penstock {

// The bytes of an entry before its values are tags, the key and lengths:
//
//   1, length of the entry, 1, length of the key, the key, 2, length of the feature,
//   kind of the list, its length, 1, length of the values
//
// In an entry below 130 bytes each length is one byte, and the last one of them determines the
// others. So all of these bytes are compared together with what they would have to be.
class EntryHead {
 public:
  static constexpr size_t kSpan = 32;  // bytes that are compared

  // No entry begins with it.
  EntryHead() = default;
  // Of the list with tag `kind`. With 0 of any: the last length is that of the feature.
  EntryHead(std::string_view key, uint32_t kind);

  size_t size() const { return size_; }
  // Whether an entry at `at` begins with it, in a map that ends at `end` and has kSpan bytes at
  // least; `length` bytes of the entry follow then.
  bool Begins(const uint8_t* at, const uint8_t* end, size_t& length) const {
    const auto left = static_cast<size_t>(end - at);
    if (left < size_) return false;
    length = at[size_ - 1];
    if (length > most_ || length > left - size_) return false;
    // At the end of the map, bytes before `at` are read in place of those after it.
    const size_t before = left < kSpan ? kSpan - left : 0;
    const uint8_t* const here = at - before;
    const size_t from = kSpan - before;
    const auto follows = static_cast<uint8_t>(length);
    // Compilers make vector instructions of it.
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
  size_t most_ = 0;  // bytes after it in the entry
  // The head is in the second half. Lengths are there without what follows the head.
  uint8_t bytes_[2 * kSpan] = {};
  uint8_t lengths_[2 * kSpan] = {};  // 0xFF: what follows is added to it
  uint8_t counted_[2 * kSpan] = {};  // 0xFF: compared
};

}  // namespace penstock
