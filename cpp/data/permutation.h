// A random order as a function of a key: needs no memory, and any position can be computed
// directly.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "data/random.h"

namespace penstock {

// A permutation of [0, size). Small sizes are shuffled (Fisher-Yates), so that all orders are
// equally likely. Larger ones are enciphered with a Feistel network (Luby and Rackoff, "How to
// construct pseudorandom permutations from pseudorandom functions", SIAM J. Comput. 17, 1988) over
// the next power of two, whose halves may differ by one bit, with the mixer of SplitMix64 as its
// round function. Values out of range are enciphered again, which yields a permutation of the range
// (Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002).
class Permutation {
 public:
  static constexpr int64_t kFew = 4096;

  Permutation(RandomKey key, int64_t size) : size_(static_cast<uint64_t>(size)) {
    if (size <= kFew) {
      few_.resize(size_);
      for (uint64_t i = 0; i < size_; ++i) {
        const uint64_t j = key.DrawBelow(i, i + 1);
        few_[i] = few_[j];
        few_[j] = static_cast<uint16_t>(i);
      }
      return;
    }
    const int bits = std::bit_width(size_ - 1);
    left_bits_ = bits / 2;
    left_ = (uint64_t{1} << left_bits_) - 1;
    right_ = (uint64_t{1} << (bits - left_bits_)) - 1;
    for (size_t i = 0; i < rounds_.size(); ++i) rounds_[i] = key.Fold(i);
  }

  // The value at a position in [0, size).
  int64_t operator()(int64_t position) const {
    auto number = static_cast<uint64_t>(position);
    if (!few_.empty()) return few_[number];
    do number = Encipher(number);
    while (number >= size_);
    return static_cast<int64_t>(number);
  }

 private:
  uint64_t Encipher(uint64_t number) const {
    uint64_t left = number & left_;
    uint64_t right = number >> left_bits_;
    for (size_t i = 0; i < rounds_.size(); i += 2) {
      left ^= rounds_[i].Fold(right).value >> 32 & left_;
      right ^= rounds_[i + 1].Fold(left).value >> 32 & right_;
    }
    return right << left_bits_ | left;
  }

  uint64_t size_;
  std::vector<uint16_t> few_;  // the whole order, for small sizes
  int left_bits_ = 0;
  uint64_t left_ = 0;  // masks of the halves
  uint64_t right_ = 0;
  std::array<RandomKey, 8> rounds_;
};

}  // namespace penstock
