// Numbers written in text, without regard to the locale.
#include "compute/io/csv_number.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <locale>
#include <sstream>
#include <string>
#include <type_traits>

#include "compute/strings/string_items.h"

namespace penstock {
namespace {

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

bool IsDecimal(char c) { return c >= '0' && c <= '9'; }

// Digits with at most one point among them, where two numbers that T holds exactly give the nearest
// to it, as a fraction: most numbers of files are such. False for all others, also for what is
// none.
template <typename T>
bool ReadShortDecimal(std::string_view text, T* value) {
  constexpr double kPowers[] = {1e0, 1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,
                                1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17};
  constexpr size_t kMostDecimals = std::is_same_v<T, float> ? 10 : std::size(kPowers) - 1;
  constexpr uint64_t kMost = uint64_t{1} << std::numeric_limits<T>::digits;
  constexpr size_t kMostDigits = 18;  // of which uint64_t holds any
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (text.empty() || text.size() > kMostDigits) return false;
  uint64_t digits = 0;
  size_t point = text.size();
  for (size_t i = 0; i < text.size(); ++i) {
    if (IsDecimal(text[i])) {
      digits = digits * 10 + static_cast<uint64_t>(text[i] - '0');
    } else if (text[i] == '.' && point == text.size() && text.size() > 1) {
      point = i;
    } else {
      return false;
    }
  }
  const size_t decimals = point == text.size() ? 0 : text.size() - point - 1;
  if (digits > kMost || decimals > kMostDecimals) return false;
  const T size = static_cast<T>(digits) / static_cast<T>(kPowers[decimals]);
  *value = negative ? -size : size;
  return true;
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
  if (ReadShortDecimal(text, &value)) {
    std::memcpy(out, &value, sizeof(T));
    return true;
  }
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
