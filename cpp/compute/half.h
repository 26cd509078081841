// IEEE 754 half precision as bits; conversions round to nearest even, as NumPy's do.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace penstock {

struct Half {
  uint16_t bits;
};

inline float FloatOf(Half half) {
  uint32_t magnitude = (half.bits & 0x7FFFu) << 13;
  // The product moves the exponent's bias from 15 to 127; it is exact, subnormals included.
  uint32_t bits = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
  bits |= magnitude >= 0x0F800000u ? 0x7F800000u : 0u;  // infinities and NaNs
  return std::bit_cast<float>(bits | (half.bits & 0x8000u) << 16);
}

namespace internal {

// Rounds the bits of a float or double to a half.
template <typename Float, typename Bits>
Half HalfOfBits(Bits bits) {
  constexpr int kMantissa = sizeof(Float) == 4 ? 23 : 52;
  constexpr int kWidth = 8 * sizeof(Float);
  constexpr int kDrop = kMantissa - 10;
  constexpr Bits kInfinity = std::bit_cast<Bits>(std::numeric_limits<Float>::infinity());
  constexpr Bits kTooBig = std::bit_cast<Bits>(Float{65536});
  constexpr Bits kNormal = std::bit_cast<Bits>(static_cast<Float>(0x1p-14));
  auto sign = static_cast<uint16_t>(bits >> (kWidth - 16) & 0x8000u);
  bits &= ~Bits{0} >> 1;
  uint32_t half;
  if (bits >= kTooBig) {
    half = 0x7C00u;
    if (bits > kInfinity) {
      half |= static_cast<uint32_t>((bits & (kInfinity ^ (~Bits{0} >> 1))) >> kDrop);
      half += half == 0x7C00u;  // a NaN stays one
    }
  } else if (bits < kNormal) {
    // The sum's last bit is the spacing of subnormal halves, 2^-24: the hardware rounds.
    constexpr Float kAlign =
        sizeof(Float) == 4 ? static_cast<Float>(0x1p-1) : static_cast<Float>(0x1p28);
    half = static_cast<uint32_t>(std::bit_cast<Bits>(std::bit_cast<Float>(bits) + kAlign) -
                                 std::bit_cast<Bits>(kAlign));
  } else {
    Bits odd = bits >> kDrop & 1;
    bits -= kNormal - (Bits{1} << kMantissa);
    half = static_cast<uint32_t>((bits + (Bits{1} << (kDrop - 1)) - 1 + odd) >> kDrop);
  }
  return {static_cast<uint16_t>(half | sign)};
}

}  // namespace internal

inline Half HalfOf(float value) {
  return internal::HalfOfBits<float>(std::bit_cast<uint32_t>(value));
}
inline Half HalfOf(double value) {
  return internal::HalfOfBits<double>(std::bit_cast<uint64_t>(value));
}

}  // namespace penstock
