// Text that is safe to show in terminals, logs and errors.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace penstock {

// The size of the UTF-8 sequence at the start of `text`; 0 if there is none.
size_t SequenceLength(std::string_view text);
// Appends the first character of `text`, which must not be empty; returns its size in bytes.
// Control characters, line separators, marks that change the direction of text, and bytes that are
// not UTF-8 become escapes as in Python literals: "\n", "\x1b", "\u2028".
size_t AppendPrintable(std::string& out, std::string_view text);
// The same for all characters. Keep it consistent with penstock.printable.
std::string Printable(std::string_view text);
// Removes user names and passwords from URLs, and replaces queries of web URLs, which may be
// signatures, by "...". Keep it consistent with penstock.printable.
std::string WithoutSecrets(std::string_view text);

}  // namespace penstock
