// Checked access to strings.
#include "compute/strings/string_items.h"

#include <algorithm>

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

int64_t CountCharacters(std::string_view text) { return std::ranges::count_if(text, Begins); }

size_t CharacterBegin(std::string_view text, int64_t index) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (Begins(text[i]) && index-- == 0) return i;
  }
  return text.size();
}

}  // namespace penstock
