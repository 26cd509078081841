// The escaped characters and their escapes.
#include "data/printable.h"

#include <algorithm>
#include <cctype>
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

constexpr std::string_view kUrlEnds = " \t\r\n\"'<>";

// Calls `replace` after each "://" in `text`, with the scheme before it (in lower case) and the
// rest of the text. `replace` may remove the beginning of the rest, and append a replacement to
// `out`.
template <class Replace>
std::string AfterSchemes(std::string_view text, Replace replace) {
  const auto is_scheme = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '+' || c == '.' ||
           c == '-';
  };
  std::string out;
  for (;;) {
    const size_t end = text.find("://");
    if (end == std::string_view::npos) return out.append(text);
    size_t begin = end;
    while (begin > 0 && is_scheme(text[begin - 1])) --begin;
    std::string scheme(text.substr(begin, end - begin));
    for (char& c : scheme) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    out.append(text.substr(0, end + 3));
    text.remove_prefix(end + 3);
    replace(scheme, text, out);
  }
}

bool IsWeb(std::string_view scheme) { return scheme == "http" || scheme == "https"; }

std::string WithoutUsers(std::string_view text) {
  return AfterSchemes(text, [](std::string_view scheme, std::string_view& rest, std::string&) {
    std::string_view host = rest.substr(0, rest.find_first_of(kUrlEnds));
    host = host.substr(0, host.find_first_of("/?#"));
    const size_t user = host.rfind('@');
    if (user == std::string_view::npos) return;
    // In other schemes, this is part of the name of a repository or container.
    const bool password = host.substr(0, host.find('@')).find(':') != std::string_view::npos;
    if (IsWeb(scheme) || (password && scheme != "git" && scheme != "github"))
      rest.remove_prefix(user + 1);
  });
}

std::string WithoutQueries(std::string_view text) {
  return AfterSchemes(text, [](std::string_view scheme, std::string_view& rest, std::string& out) {
    if (!IsWeb(scheme)) return;
    const std::string ends = std::string(kUrlEnds) + "()";
    std::string_view url = rest.substr(0, rest.find_first_of(ends));
    const size_t query = url.find('?');
    if (query == std::string_view::npos) return;
    if (url.back() == ':' || url.back() == ',') url.remove_suffix(1);  // punctuation of the text
    out.append(url.substr(0, query)).append("?...");
    rest.remove_prefix(url.size());
  });
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

std::string WithoutSecrets(std::string_view text) { return WithoutQueries(WithoutUsers(text)); }

}  // namespace penstock
