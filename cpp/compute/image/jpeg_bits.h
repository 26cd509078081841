// The bits of a JPEG scan in memory, without the zero bytes that are stuffed after 0xFF.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

// Unusual data, mainly damage, is not decoded here. Sound returns whether nothing occurred that
// another decoder might treat differently. Loops use a local copy of the object, which stays in
// registers.
class JpegBits {
 public:
  JpegBits() = default;
  JpegBits(const uint8_t* begin, const uint8_t* end) : next_(begin), end_(end) { FindPlain(); }

  // Makes at least 56 bits available. After the last bits before a marker, the bits are zero.
  void Refill() {
    if (plain_ - next_ < 8) [[unlikely]] {
      *this = RefilledByBytes(*this);
      return;
    }
    // Bits below the valid ones belong to the next byte, and may already be set to its bits.
    bits_ |= BigEndian(next_) >> count_;
    next_ += (63 - count_) >> 3;
    count_ |= 56;
  }
  // The next bits: between 1 and 32 of them.
  uint32_t Peek(int count) const { return static_cast<uint32_t>(bits_ >> (64 - count)); }
  // The same, for 0 bits too.
  uint32_t PeekSome(int count) const { return static_cast<uint32_t>(bits_ >> 1 >> (63 - count)); }
  void Take(uint32_t count) {
    bits_ <<= count;
    count_ -= static_cast<int>(count);
  }

  // Restores the last `count` bits that were taken.
  void PutBack(uint32_t taken, int count) {
    bits_ = bits_ >> count | uint64_t{taken} << (64 - count);
    count_ += count;
  }

  // Whether all bits taken were in the data, and nothing unusual occurred.
  bool Sound() const { return !odd_ && count_ >= padding_; }
  // Continues after the restart marker `code`. False if that marker does not follow the last byte.
  bool Restart(uint8_t code);

 private:
  static uint64_t BigEndian(const uint8_t* bytes) {
    uint64_t word = 0;
    for (int i = 0; i < 8; ++i) word = word << 8 | bytes[i];  // compilers recognise this pattern
    return word;
  }
  static JpegBits RefilledByBytes(JpegBits bits);
  bool AtMarker();
  void FindPlain();

  uint64_t bits_ = 0;               // the next bits, from the highest
  int count_ = 0;                   // number of valid bits among them
  int padding_ = 0;                 // number of available bits that are zeros after the data
  bool odd_ = false;                // something unusual occurred
  bool ends_ = false;               // there is a marker before the end of the memory
  const uint8_t* next_ = nullptr;   // the first byte not completely loaded
  const uint8_t* plain_ = nullptr;  // no byte before it is 0xFF or close to the end of the memory
  const uint8_t* end_ = nullptr;
};

}  // namespace penstock
