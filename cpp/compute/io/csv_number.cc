// Numbers written in text, without regard to the locale.
#include "compute/io/csv_number.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <locale>
#include <sstream>
#include <string>

namespace penstock {
namespace {

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n\v\f";
  size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) + 1 - first);
}

// Whether a number that no float holds is too large rather than too small.
bool TooLarge(std::string_view text) {
  size_t digit = text.find_first_of("123456789");
  size_t e = text.find_first_of("eE"), dot = std::min(text.find('.'), text.size());
  long long exponent = 0;
  if (e != std::string_view::npos) {
    std::string_view power = text.substr(e + 1);
    if (power.starts_with('+')) power.remove_prefix(1);
    auto [end, error] = std::from_chars(power.data(), power.data() + power.size(), exponent);
    if (error != std::errc()) return power[0] != '-';
    dot = std::min(dot, e);
  }
  return static_cast<long long>(dot) - static_cast<long long>(digit) + exponent > 0;
}

template <typename T>
bool ReadFloat(std::string_view text, void* out) {
  T value{};
#if defined(__cpp_lib_to_chars) && __cpp_lib_to_chars >= 201611L
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) return false;
  bool beyond = error == std::errc::result_out_of_range;
#else
  std::istringstream stream{std::string(text)};
  stream.imbue(std::locale::classic());
  stream >> value;
  bool beyond = stream.fail() && text.find_first_of("0123456789") != std::string_view::npos &&
                text.find_first_not_of("0123456789.eE+-") == std::string_view::npos;
  if (!beyond && (stream.fail() || !stream.eof())) return false;
#endif
  if (beyond) {
    value = TooLarge(text) ? std::numeric_limits<T>::infinity() : T{0};
    if (text[0] == '-') value = -value;
  }
  std::memcpy(out, &value, sizeof(T));
  return true;
}

template <typename T>
bool ReadInteger(std::string_view text, void* out) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  std::memcpy(out, &value, sizeof(T));
  return true;
}

}  // namespace

bool ReadCsvNumber(std::string_view text, TypeCode code, void* out) {
  text = Trimmed(text);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  switch (code) {
    case TypeCode::kInt32:
      return ReadInteger<int32_t>(text, out);
    case TypeCode::kInt64:
      return ReadInteger<int64_t>(text, out);
    case TypeCode::kFloat32:
      return ReadFloat<float>(text, out);
    default:
      return ReadFloat<double>(text, out);
  }
}

}  // namespace penstock
