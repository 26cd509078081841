// JSON text, token by token, as strict as RFC 8259. Errors include the byte offset.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/error.h"

namespace penstock {

class JsonReader {
 public:
  // The maximum nesting of values, which bounds the memory of their readers.
  static constexpr size_t kDeepest = 1000;

  explicit JsonReader(std::string_view text)
      : begin_(text.data()), at_(text.data()), end_(text.data() + text.size()) {}

  size_t position() const { return static_cast<size_t>(at_ - begin_); }
  // The next character that is not white space; 0 at the end.
  char Peek() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
    return at_ < end_ ? *at_ : '\0';
  }
  // Takes this character if it is the next one.
  bool Take(char character) {
    if (Peek() != character) return false;
    ++at_;
    return true;
  }
  void Expect(char character) {
    if (!Take(character)) Fail(Format("{} was expected", std::string_view(&character, 1)));
  }
  // Takes the word null, true or false.
  bool TakeWord(std::string_view word);
  // A string in UTF-8, valid until the next one is read.
  std::string_view String();
  // The text of a number. `whole`: whether it has neither fraction nor exponent.
  std::string_view Number(bool* whole);
  // Skips a value of any type.
  void Skip();
  // Requires that only white space follows.
  void End() {
    if (Peek() != '\0' || at_ < end_) Fail("nothing more was expected");
  }
  // Describes the token at the current position, for errors.
  std::string_view Kind();

  [[noreturn]] void Fail(std::string_view problem) const;

 private:
  const char* Plain(const char* at) const;
  void Unescape();
  uint32_t Hex();
  void Utf8();

  const char* begin_;
  const char* at_;
  const char* end_;
  std::string unescaped_;
  std::vector<char> open_;  // unclosed brackets of the value being skipped
};

}  // namespace penstock
