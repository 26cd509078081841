// Parses numbers.
#pragma once

#include <cctype>
#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

#include "compute/strings/string_items.h"

namespace penstock {

// "0x1.8p3", with an optional minus sign.
inline bool IsHexadecimal(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') &&
         (std::isxdigit(static_cast<unsigned char>(text[2])) || text[2] == '.');
}

// The result for a number that is too large or too close to zero: infinity, or zero.
template <typename T>
T BeyondRange(std::string_view text) {
  return static_cast<T>(std::strtod(std::string(text).c_str(), nullptr));
}

template <typename T>
bool ParseHexadecimal(std::string_view text, T* value) {
  const bool negative = text.starts_with('-');
  std::string_view digits = text.substr(negative ? 3 : 2);
  const char* end = digits.data() + digits.size();
  auto [stop, problem] = std::from_chars(digits.data(), end, *value, std::chars_format::hex);
  if (stop != end) return false;
  if (problem == std::errc::result_out_of_range) {
    *value = BeyondRange<T>(text);
    return true;
  }
  if (negative) *value = -*value;
  return problem == std::errc{};
}

// Parses a whole string as a number, with optional white space around it: in decimal, and floats in
// hexadecimal too. False if it is not a number, or an integer out of range.
template <typename T>
bool ParseNumber(std::string_view text, T* value) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  if constexpr (std::is_floating_point_v<T>) {
    if (IsHexadecimal(text)) return ParseHexadecimal(text, value);
  }
  const char* end = text.data() + text.size();
  auto [stop, problem] = std::from_chars(text.data(), end, *value);
  if (stop != end || text.empty()) return false;
  if (problem == std::errc{}) return true;
  if constexpr (std::is_floating_point_v<T>) {
    if (problem != std::errc::result_out_of_range) return false;
    *value = BeyondRange<T>(text);
    return true;
  }
  return false;
}

// Quotes a text that is not a number, for errors.
inline std::string QuotedNumber(std::string_view text) {
  constexpr size_t kMostShown = 40;
  std::string shown = "'";
  for (char c : text.substr(0, kMostShown)) shown += c >= ' ' && c < 127 ? c : '?';
  return shown + (text.size() > kMostShown ? "...'" : "'");
}

}  // namespace penstock
