// Items of one type that become a tensor.
#include "compute/io/item_list.h"

#include "compute/io/wire.h"
#include "data/error.h"

namespace penstock {

ItemList::ItemList(size_t itemsize, size_t capacity)
    : itemsize_(itemsize), capacity_(capacity), buffer_(Buffer::Allocate(itemsize * capacity)) {}

void ItemList::Grow(size_t least) {
  constexpr size_t kFewest = 8;
  size_t capacity = std::max({least, 2 * capacity_, kFewest});
  BufferRef larger = Buffer::Allocate(capacity * itemsize_);
  if (size_) std::memcpy(larger->data(), buffer_->data(), size_ * itemsize_);
  buffer_ = std::move(larger);
  capacity_ = capacity;
}

void ItemList::MakeRoomForNumbers(const uint8_t* at, const uint8_t* end) {
  MakeRoom(static_cast<size_t>(std::count_if(at, end, [](uint8_t b) { return b < 0x80; })));
}

void ItemList::RefuseFloats(const uint8_t* at, size_t bytes) {
  throw WireError{Format("{} bytes are no number of floats", bytes), at};
}

void ItemList::RefuseNumber(const uint8_t* at) { throw WireError{"a number is cut off", at}; }

void ItemList::Append(const uint8_t* items, size_t count) {
  if (count == 0) return;
  size_t before = size_ * itemsize_;
  if (size_ + count > capacity_) Grow(size_ + count);
  size_ += count;
  std::memcpy(buffer_->data() + before, items, count * itemsize_);
}

}  // namespace penstock
