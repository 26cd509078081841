// Finds the fields of a line of comma-separated values.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace penstock {

// Writes the positions of a line's delimiters to `found`, in order, and returns their number.
// Nullopt if the line contains a line end or, with `quotes`, a quote; fields must then be parsed
// individually. `found` must have room for one position per byte of the line, which must be shorter
// than 2^32.
std::optional<size_t> FindDelimiters(std::string_view line, char delimiter, bool quotes,
                                     uint32_t* found);

}  // namespace penstock
