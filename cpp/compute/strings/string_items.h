// Strings as inputs of operations: bytes or text, of any shape.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compute/op.h"
#include "data/tensor.h"

namespace penstock {

// Whether the strings of an input are bytes or text. Throws a TypeError that names operation and
// argument for anything else; an empty array of unknown objects counts as bytes.
TypeCode StringKind(const char* op, const char* argument, const Tensor& strings);

// One string, of either kind.
std::string_view OneString(const char* op, const char* argument, const Tensor& string);

// ASCII white space.
inline bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Parses a unit of lengths and positions: "BYTE" or "UTF8_CHAR"; true for characters.
bool UnitIsCharacter(const char* op, const std::string& unit);

// Takes the next code point of UTF-8 (RFC 3629). For invalid bytes returns -1, and takes a maximal
// subpart, which Unicode recommends to replace by one character.
int32_t NextCodePoint(std::string_view& text);
bool IsUtf8(std::string_view text);

// The number of UTF-8 characters that begin in a string, which is not validated.
int64_t CountCharacters(std::string_view text);
// The byte where character number `index` begins, counted from the front; the size if there is no
// such character.
size_t CharacterBegin(std::string_view text, int64_t index);

}  // namespace penstock
