// Short texts for elements, which identify the failed element in messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "data/block.h"

namespace penstock {

// Returns the element in Python syntax, on one line of limited length: "('photos/a.jpg', 3)".
// Strings are shortened in the middle. Arrays appear as dtype and shape, arrays of strings also
// with their first strings. Returns "" if the text would not distinguish the element from others,
// because it has neither a string nor a scalar number. Leaves whose memory was moved out appear as
// arrays.
std::string ElementText(const Element& element);
// The same for one row.
std::string RowText(const Block& rows, int64_t row);
// Returns the Python repr of a string, with secrets removed from URLs, shortened in the middle.
// Binary data is truncated after its first bytes.
std::string Quoted(std::string_view text, bool bytes);

}  // namespace penstock
