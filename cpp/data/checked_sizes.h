// Overflow-checked arithmetic on sizes, offsets and counts read from files.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace penstock {

constexpr std::optional<uint64_t> CheckedAdd(uint64_t a, uint64_t b) {
  if (a > std::numeric_limits<uint64_t>::max() - b) return std::nullopt;
  return a + b;
}

constexpr std::optional<uint64_t> CheckedMultiply(uint64_t a, uint64_t b) {
  if (b > 0 && a > std::numeric_limits<uint64_t>::max() / b) return std::nullopt;
  return a * b;
}

// Appends a digit to `number`.
constexpr std::optional<uint64_t> WithDigit(uint64_t number, uint64_t base, uint64_t digit) {
  const std::optional<uint64_t> shifted = CheckedMultiply(number, base);
  return shifted ? CheckedAdd(*shifted, digit) : std::nullopt;
}

// Whether the `size` bytes starting at `begin` lie within the first `whole` bytes.
constexpr bool LiesWithin(uint64_t begin, uint64_t size, uint64_t whole) {
  return begin <= whole && size <= whole - begin;
}

}  // namespace penstock
