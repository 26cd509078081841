// Protocol buffers' wire format: fields of a message in memory.
// https://protobuf.dev/programming-guides/encoding
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace penstock {

// The problem with a message. The operation that reads it adds which message it is.
struct WireError {
  std::string what;
  const void* at = nullptr;  // the address in memory, if there is one
  bool missing = false;      // a feature that the example lacks
};

// A tag combines a field's number and its wire type.
constexpr uint32_t VarintTag(uint32_t field) { return field << 3; }
constexpr uint32_t BytesTag(uint32_t field) { return field << 3 | 2; }
constexpr uint32_t Fixed32Tag(uint32_t field) { return field << 3 | 5; }

// Iterates over the fields of one message. Every method throws a WireError instead of reading
// beyond the end.
class WireReader {
 public:
  explicit WireReader(std::string_view message)
      : at_(reinterpret_cast<const uint8_t*>(message.data())), end_(at_ + message.size()) {}

  bool done() const { return at_ == end_; }
  size_t left() const { return static_cast<size_t>(end_ - at_); }  // in bytes
  uint32_t Tag() {
    // A one-byte tag encodes field numbers 1 to 15.
    if (at_ < end_ && *at_ < 0x80 && *at_ >= 8 && (*at_ & 7) <= 5) return *at_++;
    return LongTag();
  }
  uint64_t Varint() {
    if (at_ < end_ && *at_ < 0x80) return *at_++;
    if (end_ - at_ >= 2 && at_[1] < 0x80) {
      uint64_t value = (at_[0] & 0x7Fu) | uint64_t{at_[1]} << 7;
      at_ += 2;
      return value;
    }
    return LongVarint();
  }
  std::string_view Bytes() {
    const uint8_t* place = at_;
    uint64_t length = Varint();
    if (length > static_cast<uint64_t>(end_ - at_)) ThrowLength(length, place);
    std::string_view bytes(reinterpret_cast<const char*>(at_), length);
    at_ += length;
    return bytes;
  }
  // The bytes of a fixed32 or fixed64.
  const uint8_t* Fixed(size_t size);
  // Skips the rest of an unknown field.
  void Skip(uint32_t tag);

 private:
  uint32_t LongTag();
  uint64_t LongVarint();
  void SkipGroup(uint32_t field);
  void SkipValue(uint32_t tag);
  [[noreturn]] void ThrowLength(uint64_t length, const uint8_t* place) const;

  const uint8_t* at_;
  const uint8_t* end_;
};

// Eight bytes in memory order.
inline uint64_t WordAt(const void* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Whether [at, end) is exactly one field of bytes with this tag, which must be below 128; if so,
// moves `at` to its contents. Rejects overlong encodings of lengths, which the general readers
// handle.
inline bool EnterOnly(const uint8_t*& at, const uint8_t* end, uint32_t tag) {
  const auto left = static_cast<size_t>(end - at);
  if (left < 2 || at[0] != tag) return false;
  size_t length = at[1], head = 2;
  if (length >= 0x80) {
    length &= 0x7F;
    for (int shift = 7;; shift += 7, ++head) {
      constexpr size_t kLongestHead = 5;
      if (head == left || head == kLongestHead) return false;
      length |= size_t{at[head] & 0x7Fu} << shift;
      if (at[head] < 0x80) break;
    }
    ++head;
  }
  if (length != left - head) return false;
  at += head;
  return true;
}

}  // namespace penstock
