// The escaped characters, and their escapes.
#include "data/printable.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

namespace penstock {
namespace {

uint32_t CodePoint(std::string_view sequence) {
  const auto first = static_cast<uint8_t>(sequence[0]);
  if (sequence.size() == 1) return first;
  uint32_t code = first & (0xFFu >> (sequence.size() + 1));
  for (size_t i = 1; i < sequence.size(); ++i) {
    code = code << 6 | (static_cast<uint8_t>(sequence[i]) & 0x3Fu);
  }
  return code;
}

bool IsControl(uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x061C ||
         (code >= 0x200E && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069);
}

void AppendEscape(std::string& out, uint32_t code) {
  if (code == '\n') {
    out += "\\n";
  } else if (code == '\r') {
    out += "\\r";
  } else if (code == '\t') {
    out += "\\t";
  } else {
    char escape[16];
    std::snprintf(escape, sizeof(escape), code < 0x100 ? "\\x%02x" : "\\u%04x",
                  static_cast<unsigned>(code));
    out += escape;
  }
}

}  // namespace

size_t SequenceLength(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const size_t length = byte(0) < 0x80                       ? 1
                        : byte(0) >= 0xC2 && byte(0) < 0xE0  ? 2
                        : byte(0) >= 0xE0 && byte(0) < 0xF0  ? 3
                        : byte(0) >= 0xF0 && byte(0) <= 0xF4 ? 4
                                                             : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const uint32_t code = CodePoint(text.substr(0, length));
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  return overlong || surrogate || code > 0x10FFFF ? 0 : length;
}

size_t AppendPrintable(std::string& out, std::string_view text) {
  const auto byte = static_cast<uint8_t>(text[0]);
  if (byte >= 0x20 && byte < 0x7F) {
    out += text[0];
    return 1;
  }
  const size_t length = SequenceLength(text);
  if (length == 0) {
    AppendEscape(out, byte);
    return 1;
  }
  const uint32_t code = CodePoint(text.substr(0, length));
  if (IsControl(code))
    AppendEscape(out, code);
  else
    out += text.substr(0, length);
  return length;
}

std::string Printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) text.remove_prefix(AppendPrintable(out, text));
  return out;
}

std::string WithoutQueries(std::string_view text) {
  constexpr std::string_view kEnds = " \t\r\n\"'<>()";
  std::string out;
  for (;;) {
    const size_t scheme = std::min(text.find("http://"), text.find("https://"));
    const size_t query = text.find_first_of("? \t\r\n\"'<>()", std::min(scheme, text.size()));
    if (query == std::string_view::npos) return out.append(text);
    out.append(text.substr(0, query));
    text.remove_prefix(query);
    if (text[0] != '?') continue;
    size_t end = std::min(text.find_first_of(kEnds), text.size());
    if (text[end - 1] == ':' || text[end - 1] == ',') --end;  // of the sentence
    out.append("?...");
    text.remove_prefix(end);
  }
}

}  // namespace penstock
