// Substrings, as ranges of the bytes of their strings.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "data/tensor.h"

namespace penstock {

// Collects substrings, in any order, without copying them.
class StringParts {
 public:
  // `strings`: bytes or text, as `kind` specifies; strings of a foreign runtime are copied once.
  StringParts(TypeCode kind, const Tensor& strings);

  std::string_view string(int64_t i) const { return strings_.string(i); }
  int64_t count() const { return (next_ - begin_) / 2; }
  void Add(std::string_view part) {
    int64_t* to = Room(2);
    to[0] = part.data() - bytes_;
    to[1] = to[0] + static_cast<int64_t>(part.size());
    next_ = to + 2;
  }
  // Adds the words of one of the strings, separated by white space.
  void AddWords(std::string_view text);
  // Adds the parts between one-byte separators.
  void AddBetween(char separator, std::string_view text);

  // The substrings, which keep the bytes of the strings alive.
  Tensor Take() &&;
  // The same, copied if they would keep much more memory alive than they need.
  Tensor TakeAlone() &&;

 private:
  // Returns where to write `numbers` more numbers.
  int64_t* Room(int64_t numbers) {
    if (end_ - next_ < numbers) Grow(numbers);
    return next_;
  }
  void Grow(int64_t numbers);
  // Calls edges(bits, where): one bit for each of up to 64 bytes of `text`, which begin at `where`.
  template <typename Match, typename Edges>
  void Scan(std::string_view text, Match match, Edges edges);

  const TypeCode kind_;
  Tensor strings_;
  const char* bytes_;  // that contain the strings
  const char* last_;   // the end of the last string: later bytes may have another owner
  BufferRef spans_;
  int64_t *begin_ = nullptr, *next_ = nullptr, *end_ = nullptr;
};

}  // namespace penstock
