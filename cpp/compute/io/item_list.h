// Values of a feature, example by example.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "compute/io/packed_numbers.h"
#include "data/buffer.h"

namespace penstock {

// A string anywhere in memory: the addresses of its begin and end.
struct TextSpan {
  int64_t begin, end;
};

// Items of one type, contiguous in memory that becomes a tensor's.
class ItemList {
 public:
  ItemList(size_t itemsize, size_t capacity);
  // Appends `count` items and returns their address; the caller must write them.
  template <typename T>
  T* Extend(size_t count) {
    MakeRoom(count);
    T* at = Next<T>();
    size_ += count;
    return at;
  }
  bool HasRoom(size_t count) const { return size_ + count <= capacity_; }
  void MakeRoom(size_t count) {
    if (!HasRoom(count)) Grow(size_ + count);
  }
  // The address of the next item. Items that are written there, within the available room, are
  // counted by Extend.
  template <typename T>
  T* Next() {
    return reinterpret_cast<T*>(buffer_->data()) + size_;
  }
  void Append(const uint8_t* items, size_t count);
  // Adds packed numbers, or a string.
  void AddFloats(const uint8_t* at, const uint8_t* end) {
    const auto bytes = static_cast<size_t>(end - at);
    if (bytes % sizeof(float)) [[unlikely]]
      RefuseFloats(at, bytes);
    if (bytes) std::memcpy(Extend<float>(bytes / sizeof(float)), at, bytes);
  }
  void AddInt64s(const uint8_t* at, const uint8_t* end, ReadNumbers read) {
    if (at == end) return;
    if (end[-1] >= 0x80) [[unlikely]]
      RefuseNumber(end - 1);
    if (!HasRoom(static_cast<size_t>(end - at))) MakeRoomForNumbers(at, end);
    // Eight bytes before the numbers are readable, because they belong to the example: packed
    // numbers are inside a list, a feature, a map entry, a map and an example, and each of these
    // five has two bytes before its content.
    auto* const begin = Next<int64_t>();
    Extend<int64_t>(static_cast<size_t>(read(at, end, begin) - begin));
  }
  void AddString(const uint8_t* at, const uint8_t* end) {
    const auto begin = reinterpret_cast<int64_t>(at);
    *Extend<TextSpan>(1) = {begin, begin + (end - at)};
  }
  // Removes the items after the first `count`.
  void Keep(size_t count) { size_ = std::min(size_, count); }
  size_t itemsize() const { return itemsize_; }
  size_t size() const { return size_; }
  uint8_t* data() const { return buffer_->data(); }
  const BufferRef& buffer() const { return buffer_; }

 private:
  void Grow(size_t least);
  void MakeRoomForNumbers(const uint8_t* at, const uint8_t* end);
  [[noreturn]] static void RefuseFloats(const uint8_t* at, size_t bytes);
  [[noreturn]] static void RefuseNumber(const uint8_t* at);

  size_t itemsize_, capacity_, size_ = 0;
  BufferRef buffer_;
};

}  // namespace penstock
