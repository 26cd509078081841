// Reads JSON.
#include "compute/io/json_reader.h"

#include <algorithm>
#include <bit>

#if defined(__SSE2__)
#define PENSTOCK_JSON_SSE2
#include <emmintrin.h>
#endif

namespace penstock {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
// Whether a character of a string represents itself, independent of its neighbours.
bool IsPlain(char c) { return c >= ' ' && c != '"' && c != '\\'; }  // false for non-ASCII: c < 0

void AppendUtf8(std::string& to, uint32_t code) {
  auto add = [&](uint32_t byte) { to.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xC0 | code >> 6);
    add(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    add(0xE0 | code >> 12);
    add(0x80 | (code >> 6 & 0x3F));
    add(0x80 | (code & 0x3F));
  } else {
    add(0xF0 | code >> 18);
    add(0x80 | (code >> 12 & 0x3F));
    add(0x80 | (code >> 6 & 0x3F));
    add(0x80 | (code & 0x3F));
  }
}

}  // namespace

void JsonReader::Fail(std::string_view problem) const {
  throw Error(ErrorKind::kData, "{} at byte {}", problem, position());
}

std::string_view JsonReader::Kind() {
  const char next = Peek();
  if (next == '"') return "a string";
  if (next == '{') return "an object";
  if (next == '[') return "a list";
  if (next == '-' || IsDigit(next)) return "a number";
  const std::string_view rest(at_, static_cast<size_t>(end_ - at_));
  if (rest.starts_with("true") || rest.starts_with("false")) return "a bool";
  if (rest.starts_with("null")) return "null";
  if (rest.starts_with("nan") || rest.starts_with("NaN")) return "NaN, which is not valid JSON";
  if (rest.starts_with("Infinity")) return "Infinity, which is not valid JSON";
  return rest.empty() ? "nothing" : "invalid JSON";
}

bool JsonReader::TakeWord(std::string_view word) {
  Peek();
  if (!std::string_view(at_, static_cast<size_t>(end_ - at_)).starts_with(word)) return false;
  at_ += word.size();
  return true;
}

// Returns the first character from `at` on that does not represent itself.
const char* JsonReader::Plain(const char* at) const {
#if defined(PENSTOCK_JSON_SSE2)
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i escape = _mm_set1_epi8('\\');
  const __m128i space = _mm_set1_epi8(' ');
  while (end_ - at >= 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    // Non-ASCII bytes are negative, and therefore also less than a space.
    const __m128i found =
        _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, escape)),
                     _mm_cmplt_epi8(bytes, space));
    const auto bits = static_cast<uint32_t>(_mm_movemask_epi8(found));
    if (bits != 0) return at + std::countr_zero(bits);
    at += 16;
  }
#endif
  while (at < end_ && IsPlain(static_cast<signed char>(*at))) ++at;
  return at;
}

std::string_view JsonReader::String() {
  if (Peek() != '"') Fail(Format("a string was expected, got {},", Kind()));
  const char* first = ++at_;
  bool escaped = false;
  for (;;) {
    at_ = Plain(at_);
    if (escaped) unescaped_.append(first, at_);
    if (at_ == end_) Fail("the end of a string was expected");
    if (*at_ == '"') {
      const char* last = at_++;
      if (escaped) return unescaped_;
      return {first, static_cast<size_t>(last - first)};
    }
    const auto byte = static_cast<unsigned char>(*at_);
    if (byte < ' ') Fail("a control character, which must be escaped, is in a string");
    if (byte >= 0x80) {
      const char* begin = at_;
      Utf8();
      if (escaped) first = begin;
      continue;
    }
    if (!escaped) unescaped_.assign(first, at_);
    escaped = true;
    Unescape();
    first = at_;
  }
}

// Skips one non-ASCII character: RFC 3629.
void JsonReader::Utf8() {
  auto at = [&](int i) { return static_cast<unsigned char>(at_[i]); };
  const unsigned char first = at(0);
  const int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
  bool good = first >= 0xC2 && first <= 0xF4 && end_ - at_ > more;
  for (int i = 1; good && i <= more; ++i) good = (at(i) & 0xC0) == 0x80;
  if (good && more > 1) {
    good = !(first == 0xE0 && at(1) < 0xA0) && !(first == 0xED && at(1) >= 0xA0) &&
           !(first == 0xF0 && at(1) < 0x90) && !(first == 0xF4 && at(1) >= 0x90);
  }
  if (!good) Fail("bytes that are no UTF-8 are in a string");
  at_ += more + 1;
}

uint32_t JsonReader::Hex() {
  uint32_t code = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    const char digit = at_ < end_ ? *at_ : '\0';
    const char lower = static_cast<char>(digit | 0x20);
    if (!IsDigit(digit) && !(lower >= 'a' && lower <= 'f')) Fail("four hex digits were expected");
    code = code << 4 | static_cast<uint32_t>(IsDigit(digit) ? digit - '0' : lower - 'a' + 10);
  }
  return code;
}

// Decodes an escape sequence.
void JsonReader::Unescape() {
  static constexpr std::string_view kNames = "\"\\/bfnrt";
  static constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  ++at_;
  const char name = at_ < end_ ? *at_ : '\0';
  if (name != 'u') {
    const size_t found = name ? kNames.find(name) : std::string_view::npos;
    if (found == std::string_view::npos) Fail("what may follow a backslash was expected");
    ++at_;
    unescaped_.push_back(kMeanings[found]);
    return;
  }
  ++at_;
  uint32_t code = Hex();
  if (code >= 0xD800 && code < 0xE000) {
    const bool pair = code < 0xDC00 && end_ - at_ >= 2 && at_[0] == '\\' && at_[1] == 'u';
    uint32_t low = 0;
    if (pair) {
      at_ += 2;
      low = Hex();
    }
    if (low < 0xDC00 || low >= 0xE000) Fail("a lone surrogate, which is no character, ends");
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  }
  AppendUtf8(unescaped_, code);
}

std::string_view JsonReader::Number(bool* whole) {
  const char next = Peek();
  if (next != '-' && !IsDigit(next)) Fail(Format("a number was expected, got {},", Kind()));
  const char* first = at_;
  auto digits = [&] {
    if (at_ == end_ || !IsDigit(*at_)) Fail("a digit was expected");
    while (at_ < end_ && IsDigit(*at_)) ++at_;
  };
  if (*at_ == '-') ++at_;
  if (at_ < end_ && *at_ == '0') {
    ++at_;
    if (at_ < end_ && IsDigit(*at_)) Fail("no digit was expected after a leading 0");
  } else {
    digits();
  }
  *whole = true;
  if (at_ < end_ && *at_ == '.') {
    *whole = false;
    ++at_;
    digits();
  }
  if (at_ < end_ && (*at_ | 0x20) == 'e') {
    *whole = false;
    ++at_;
    if (at_ < end_ && (*at_ == '+' || *at_ == '-')) ++at_;
    digits();
  }
  return {first, static_cast<size_t>(at_ - first)};
}

void JsonReader::Skip() {
  open_.clear();
  for (;;) {
    const char next = Peek();
    if (next == '{' || next == '[') {
      if (open_.size() == kDeepest) Fail(Format("a value is nested more than {} deep", kDeepest));
      ++at_;
      open_.push_back(next == '{' ? '}' : ']');
      if (Take(open_.back())) {
        open_.pop_back();
      } else {
        if (next == '{') {
          String();
          Expect(':');
        }
        continue;
      }
    } else if (next == '"') {
      String();
    } else if (next == '-' || IsDigit(next)) {
      bool whole;
      Number(&whole);
    } else if (!TakeWord("true") && !TakeWord("false") && !TakeWord("null")) {
      Fail(Format("a value was expected, got {},", Kind()));
    }
    while (!open_.empty() && Take(open_.back())) open_.pop_back();
    if (open_.empty()) return;
    Expect(',');
    if (open_.back() == '}') {
      String();
      Expect(':');
    }
  }
}

}  // namespace penstock
