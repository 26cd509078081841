// Text that is safe to show: in a terminal, in a log, in an error.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace penstock {

// The bytes of the UTF-8 sequence that `text` begins with; 0 if it begins with none.
size_t SequenceLength(std::string_view text);
// Appends the first character of `text`, which is not empty; returns the number of its bytes.
// Control characters, line separators, marks that reverse the direction of text, and bytes that are
// not UTF-8 become escapes as in Python literals: "\n", "\x1b", "\u2028".
size_t AppendPrintable(std::string& out, std::string_view text);
// The same for all characters. penstock.printable does this in Python; the two agree.
std::string Printable(std::string_view text);

}  // namespace penstock
