// Parses numbers, independent of the locale.
#include "compute/io/csv_number.h"

#include <algorithm>
#include <bit>
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

static_assert(std::endian::native == std::endian::little, "characters are taken as they lie");

constexpr size_t kCsvWord = sizeof(uint64_t);
constexpr uint64_t kEach = 0x0101010101010101;  // times a byte: that byte, eight times

template <typename T>
T Load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// One to eight characters, the first one in the lowest byte, then zeros.
uint64_t WordOf(std::string_view text) {
  const char* at = text.data();
  const size_t size = text.size();
  // Two loads that may overlap, so that nothing is read beyond the text.
  if (size >= 4) {
    return Load<uint32_t>(at) | uint64_t{Load<uint32_t>(at + size - 4)} << 8 * (size - 4);
  }
  if (size >= 2) {
    return Load<uint16_t>(at) | uint64_t{Load<uint16_t>(at + size - 2)} << 8 * (size - 2);
  }
  return static_cast<uint8_t>(*at);
}

// The number formed by `count` digits, one to eight, in the lowest bytes; false if there are other
// characters among them. All digits are processed in parallel: first combined into pairs, then
// fours, then eights.
bool ReadDigits(uint64_t word, size_t count, uint64_t* digits) {
  word <<= 8 * (kCsvWord - count);
  if (count < kCsvWord) word |= kEach * '0' >> 8 * count;
  const uint64_t high = word & kEach * 0xf0;
  const uint64_t beyond = (word + kEach * 0x06) & kEach * 0xf0;
  if ((high ^ kEach * 0x30) | (beyond ^ kEach * 0x30)) return false;
  word = (word & kEach * 0x0f) * (1 + (uint64_t{10} << 8)) >> 8;
  word = (word & 0x00ff00ff00ff00ff) * (1 + (uint64_t{100} << 16)) >> 16;
  *digits = (word & 0x0000ffff0000ffff) * (1 + (uint64_t{10'000} << 32)) >> 32;
  return true;
}

// Removes a decimal point from up to eight characters. Returns the number of characters before it,
// or `size` if there is no point.
size_t TakePoint(uint64_t* word, size_t size) {
  const uint64_t other = *word ^ kEach * '.';
  const uint64_t points = (other - kEach) & ~other & kEach * 0x80;  // only the lowest bit counts
  if (points == 0) return size;
  const auto before = static_cast<size_t>(std::countr_zero(points)) / 8;
  const uint64_t low = (uint64_t{1} << 8 * before) - 1;
  *word = (*word & low) | (*word >> 8 & ~low);
  return before;
}

// Parses digits with at most one point among them, and counts the digits after it. False if there
// are other characters, or more than fit into a word.
bool ReadWord(std::string_view text, uint64_t* digits, size_t* decimals) {
  if (text.empty() || text.size() > kCsvWord) return false;
  uint64_t word = WordOf(text);
  const size_t before = TakePoint(&word, text.size());
  const size_t count = text.size() - (before < text.size());
  *decimals = count - before;
  return count > 0 && ReadDigits(word, count, digits);
}

// The same, character by character, for more than fit into a word.
bool ReadOneByOne(std::string_view text, uint64_t* digits, size_t* decimals) {
  constexpr size_t kMostDigits = 18;  // uint64_t can hold any such number
  if (text.size() <= kCsvWord || text.size() > kMostDigits) return false;
  *digits = 0;
  size_t point = text.size();
  for (size_t i = 0; i < text.size(); ++i) {
    if (IsDecimal(text[i])) {
      *digits = *digits * 10 + static_cast<uint64_t>(text[i] - '0');
    } else if (text[i] == '.' && point == text.size()) {
      point = i;
    } else {
      return false;
    }
  }
  *decimals = point == text.size() ? 0 : text.size() - point - 1;
  return true;
}

// Parses digits with at most one point whose value is a fraction of two numbers that T represents
// exactly, so that the division rounds correctly: most numbers in files are of this form. False for
// all other texts, including those that are not numbers.
template <typename T>
bool ReadShortDecimal(std::string_view text, T* value) {
  constexpr double kPowers[] = {1e0, 1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,
                                1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17};
  constexpr size_t kMostDecimals = std::is_same_v<T, float> ? 10 : std::size(kPowers) - 1;
  constexpr uint64_t kMost = uint64_t{1} << std::numeric_limits<T>::digits;
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  uint64_t digits = 0;
  size_t decimals = 0;
  if (!ReadWord(text, &digits, &decimals) && !ReadOneByOne(text, &digits, &decimals)) return false;
  if (digits > kMost || decimals > kMostDecimals) return false;
  const T size = static_cast<T>(digits) / static_cast<T>(kPowers[decimals]);
  *value = negative ? -size : size;
  return true;
}

// Whether a number that no float can represent is too large rather than too small.
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
  const bool negative = text.starts_with('-');
  const std::string_view unsigned_text = text.substr(negative);
  uint64_t digits = 0;
  if (!unsigned_text.empty() && unsigned_text.size() <= kCsvWord &&
      ReadDigits(WordOf(unsigned_text), unsigned_text.size(), &digits)) {
    value = static_cast<T>(digits);  // T holds any eight digits
    if (negative) value = -value;
    std::memcpy(out, &value, sizeof(T));
    return true;
  }
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
