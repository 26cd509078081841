// Text that is safe to show: in a terminal, in a log, in an error.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace penstock {

// The size of the UTF-8 sequence at the beginning of `text`; 0 if there is none.
size_t SequenceLength(std::string_view text);
// Appends the first character of `text`, which must not be empty; returns its size in bytes.
// Control characters, line separators, marks that change the direction of text, and bytes that are
// not UTF-8 become escapes as in Python literals: "\n", "\x1b", "\u2028".
size_t AppendPrintable(std::string& out, std::string_view text);
// The same for all characters. Keep it consistent with penstock.printable.
std::string Printable(std::string_view text);
// A text whose URLs have no user and password, and "..." for the queries of web servers, which may
// be signatures. Keep it consistent with penstock.printable.
std::string WithoutSecrets(std::string_view text);

}  // namespace penstock
