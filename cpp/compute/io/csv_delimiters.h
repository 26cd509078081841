// Finding the fields of a line of comma-separated values.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace penstock {

// Where the delimiters of a line are, in order, and how many; nothing where there is a line end in
// it or, with `quotes`, a quote, so that fields have to be looked for one by one. `found` has room
// for as many as there are bytes, fewer than 2^32.
std::optional<size_t> FindDelimiters(std::string_view line, char delimiter, bool quotes,
                                     uint32_t* found);

}  // namespace penstock
