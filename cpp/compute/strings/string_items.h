// Strings as operations read them: bytes or text, of any shape.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compute/op.h"
#include "data/tensor.h"

namespace penstock {

// Whether the strings of an input are bytes or text. A TypeError that names operation and argument
// for anything else; an empty array of unknown objects is one of bytes.
TypeCode StringKind(const char* op, const char* argument, const Tensor& strings);

// One string, of either kind.
std::string_view OneString(const char* op, const char* argument, const Tensor& string);

// White space of ASCII.
inline bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// A unit of lengths and positions: "BYTE" or "UTF8_CHAR"; true for characters.
bool UnitIsCharacter(const char* op, const std::string& unit);

// The next code point of UTF-8 (RFC 3629), -1 for bytes that are none: as many as no valid
// sequence begins with, which is what Unicode recommends to replace by one character.
int32_t NextCodePoint(std::string_view& text);
bool IsUtf8(std::string_view text);

// How many characters of UTF-8 begin in a string; the bytes are not checked to be UTF-8.
int64_t CountCharacters(std::string_view text);
// The byte at which character number `index` begins, from the front; the size when there is none.
size_t CharacterBegin(std::string_view text, int64_t index);

}  // namespace penstock
