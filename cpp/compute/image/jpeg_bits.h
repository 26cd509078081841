// The bits of a scan of a JPEG in memory, without the zero bytes that are stuffed after 0xFF.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

// What is unusual, damage above all, is not decoded here: Sound says that nothing was met that
// another decoder might take in another way. It is copied to where it is used: a loop keeps it in
// registers.
class JpegBits {
 public:
  JpegBits() = default;
  JpegBits(const uint8_t* begin, const uint8_t* end) : next_(begin), end_(end) { FindPlain(); }

  // Makes at least 56 bits ready. After the last ones before a marker come zeros.
  void Refill() {
    if (plain_ - next_ < 8) [[unlikely]] {
      *this = RefilledByBytes(*this);
      return;
    }
    // What is below the valid bits is of the next byte: it may be there already.
    bits_ |= BigEndian(next_) >> count_;
    next_ += (63 - count_) >> 3;
    count_ |= 56;
  }
  // The next bits, at most 32 and at least 1.
  uint32_t Peek(int count) const { return static_cast<uint32_t>(bits_ >> (64 - count)); }
  // The same, or none.
  uint32_t PeekSome(int count) const { return static_cast<uint32_t>(bits_ >> 1 >> (63 - count)); }
  void Take(uint32_t count) {
    bits_ <<= count;
    count_ -= static_cast<int>(count);
  }

  // The last ones taken, `count` of them.
  void PutBack(uint32_t taken, int count) {
    bits_ = bits_ >> count | uint64_t{taken} << (64 - count);
    count_ += count;
  }

  // No bit was taken that is not in the data, and nothing unusual was met.
  bool Sound() const { return !odd_ && count_ >= padding_; }
  // Goes on after the restart marker `code`. False if it is not what follows the last byte.
  bool Restart(uint8_t code);

 private:
  static uint64_t BigEndian(const uint8_t* bytes) {
    uint64_t word = 0;
    for (int i = 0; i < 8; ++i) word = word << 8 | bytes[i];  // compilers know this one
    return word;
  }
  static JpegBits RefilledByBytes(JpegBits bits);
  bool AtMarker();
  void FindPlain();

  uint64_t bits_ = 0;               // the next ones, from the highest
  int count_ = 0;                   // of them, that are valid
  int padding_ = 0;                 // of all that were made ready, zeros after the data
  bool odd_ = false;                // something unusual was met
  bool ends_ = false;               // there is a marker before the end of the memory
  const uint8_t* next_ = nullptr;   // the first byte that is not ready entirely
  const uint8_t* plain_ = nullptr;  // no byte before it is 0xFF, nor near the end of the memory
  const uint8_t* end_ = nullptr;
};

}  // namespace penstock
