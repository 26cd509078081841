// Elements as short text, for messages: by it users find the one that failed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "data/block.h"

namespace penstock {

// As Python writes it, on one line of limited length: "('photos/a.jpg', 3)". Strings are shortened
// in the middle, arrays are dtype and shape, arrays of strings have the first ones as well. "" when
// nothing in it distinguishes it from other elements: it has neither a string nor a lone number.
// Leaves whose memory has been moved out may be arrays.
std::string ElementText(const Element& element);
// The same of one row.
std::string RowText(const Block& rows, int64_t row);
// The Python repr of a string, without the secrets of URLs and shortened in the middle. Binary data
// is cut off after its first bytes.
std::string Quoted(std::string_view text, bool bytes);

}  // namespace penstock
