// Checked access to strings.
#include "compute/strings/string_items.h"

#include <algorithm>
#include <cstring>

#include "data/error.h"

namespace penstock {
namespace {

bool Begins(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

}  // namespace

TypeCode StringKind(const char* op, const char* argument, const Tensor& strings) {
  TypeCode code = strings.dtype().code;
  if (code == TypeCode::kObject && strings.elements() == 0) return TypeCode::kBytes;
  if (code != TypeCode::kBytes && code != TypeCode::kText) {
    throw Error(ErrorKind::kType, "{}: {} must be bytes or str, got {}", std::string_view(op),
                std::string_view(argument), strings.dtype().name());
  }
  return code;
}

std::string_view OneString(const char* op, const char* argument, const Tensor& string) {
  StringKind(op, argument, string);
  if (string.elements() != 1) {
    throw Error(ErrorKind::kInvalidArgument, "{}: {} must be one string, got an array of shape {}",
                std::string_view(op), std::string_view(argument), string.shape().ToString());
  }
  return string.string();
}

bool UnitIsCharacter(const char* op, const std::string& unit) {
  if (unit != "BYTE" && unit != "UTF8_CHAR") {
    throw Error(ErrorKind::kInvalidArgument, "{}: unit must be BYTE or UTF8_CHAR, got {}",
                std::string_view(op), unit);
  }
  return unit == "UTF8_CHAR";
}

int32_t NextCodePoint(std::string_view& text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char first = byte(0);
  if (first < 0x80) {
    text.remove_prefix(1);
    return first;
  }
  size_t size = first >= 0xC2 && first < 0xE0   ? 2
                : first >= 0xE0 && first < 0xF0 ? 3
                : first >= 0xF0 && first < 0xF5 ? 4
                                                : 1;
  int32_t value = first & (0xFF >> (size + 1));
  size_t read = 1;
  for (; read < size && read < text.size(); ++read) {
    unsigned char low = 0x80, high = 0xBF;
    if (read == 1 && first == 0xE0) low = 0xA0;   // overlong
    if (read == 1 && first == 0xED) high = 0x9F;  // surrogates
    if (read == 1 && first == 0xF0) low = 0x90;
    if (read == 1 && first == 0xF4) high = 0x8F;  // beyond U+10FFFF
    if (byte(read) < low || byte(read) > high) break;
    value = value << 6 | (byte(read) & 0x3F);
  }
  text.remove_prefix(read);
  return size > 1 && read == size ? value : -1;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    // Most text is ASCII, which is checked eight characters at a time.
    uint64_t eight = ~uint64_t{0};
    if (text.size() >= sizeof(eight)) std::memcpy(&eight, text.data(), sizeof(eight));
    if ((eight & 0x8080808080808080u) == 0) {
      text.remove_prefix(sizeof(eight));
    } else if (NextCodePoint(text) < 0) {
      return false;
    }
  }
  return true;
}

int64_t CountCharacters(std::string_view text) { return std::ranges::count_if(text, Begins); }

size_t CharacterBegin(std::string_view text, int64_t index) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (Begins(text[i]) && index-- == 0) return i;
  }
  return text.size();
}

}  // namespace penstock
