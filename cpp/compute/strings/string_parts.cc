// Finds substrings, 64 bytes per step.
#include "compute/strings/string_parts.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "compute/strings/string_items.h"

#if defined(__SSE2__)
#define PENSTOCK_PARTS_SSE2
#include <emmintrin.h>
#endif

namespace penstock {
namespace {

constexpr size_t kStride = 64;

#if defined(PENSTOCK_PARTS_SSE2)

// Returns a bit for each of 64 bytes.
template <typename Match>
uint64_t Matches(const char* bytes, Match match) {
  uint64_t bits = 0;
  for (int i = 0; i < 4; ++i) {
    __m128i part = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes) + i);
    auto found = static_cast<uint32_t>(_mm_movemask_epi8(match.Of16(part)));
    bits |= uint64_t{found} << (16 * i);
  }
  return bits;
}

struct Space {
  static __m128i Of16(__m128i part) {
    // Tab to carriage return are five consecutive bytes.
    __m128i control = _mm_sub_epi8(part, _mm_set1_epi8('\t'));
    __m128i in_row = _mm_cmpeq_epi8(_mm_min_epu8(control, _mm_set1_epi8(4)), control);
    return _mm_or_si128(in_row, _mm_cmpeq_epi8(part, _mm_set1_epi8(' ')));
  }
};

struct Byte {
  char byte;
  __m128i Of16(__m128i part) const { return _mm_cmpeq_epi8(part, _mm_set1_epi8(byte)); }
};

#else

template <typename Match>
uint64_t Matches(const char* bytes, Match match) {
  uint64_t bits = 0;
  for (size_t i = 0; i < kStride; ++i) bits |= uint64_t{match.Is(bytes[i])} << i;
  return bits;
}

struct Space {
  static bool Is(char c) { return IsSpace(c); }
};

struct Byte {
  char byte;
  bool Is(char c) const { return c == byte; }
};

#endif

Tensor PackedStrings(TypeCode kind, const Tensor& strings) {
  if (strings.storage() == Storage::kPacked) return strings;
  std::vector<std::string_view> items(static_cast<size_t>(strings.elements()));
  for (size_t i = 0; i < items.size(); ++i) items[i] = strings.string(static_cast<int64_t>(i));
  return Tensor::Strings(kind, strings.shape(), items);
}

}  // namespace

StringParts::StringParts(TypeCode kind, const Tensor& strings)
    : kind_(kind),
      strings_(PackedStrings(kind, strings)),
      bytes_(reinterpret_cast<const char*>(strings_.buffer()->data())),
      last_(bytes_) {
  size_t bytes = 0;
  for (int64_t i = 0; i < strings_.elements(); ++i) {
    std::string_view text = strings_.string(i);
    bytes += text.size();
    last_ = std::max(last_, text.data() + text.size());
  }
  // Assumes words of five letters and a space.
  Grow(static_cast<int64_t>(bytes / 3) + 2);
}

void StringParts::Grow(int64_t numbers) {
  const int64_t held = next_ - begin_;
  const int64_t capacity = std::max(2 * (end_ - begin_), held + numbers);
  BufferRef larger = Buffer::Allocate(static_cast<size_t>(capacity) * sizeof(int64_t));
  if (held) std::memcpy(larger->data(), begin_, static_cast<size_t>(held) * sizeof(int64_t));
  spans_ = std::move(larger);
  begin_ = reinterpret_cast<int64_t*>(spans_->data());
  next_ = begin_ + held;
  end_ = begin_ + capacity;
}

template <typename Match, typename Edges>
void StringParts::Scan(std::string_view text, Match match, Edges edges) {
  for (size_t at = 0; at < text.size(); at += kStride) {
    const char* here = text.data() + at;
    const size_t count = std::min(kStride, text.size() - at);
    char copied[kStride] = {};
    if (static_cast<size_t>(last_ - here) < kStride) {
      std::memcpy(copied, here, count);
      here = copied;
    }
    const uint64_t counted = ~uint64_t{0} >> (kStride - count);
    edges(Matches(here, match), counted, text.data() + at - bytes_);
  }
}

void StringParts::AddWords(std::string_view text) {
  // A word begins or ends where a byte's class differs from the previous byte's.
  uint64_t inside = 0;
  Scan(text, Space{}, [&](uint64_t spaces, uint64_t counted, int64_t where) {
    const uint64_t words = ~spaces & counted;
    uint64_t edges = words ^ (words << 1 | inside);
    inside = words >> (kStride - 1);
    int64_t* to = Room(kStride + 2);
    for (; edges != 0; edges &= edges - 1) *to++ = where + std::countr_zero(edges);
    next_ = to;
  });
  if (inside) *next_++ = text.data() + text.size() - bytes_;  // there is room for it
}

void StringParts::AddBetween(char separator, std::string_view text) {
  *Room(2) = text.data() - bytes_;
  ++next_;
  Scan(text, Byte{separator}, [&](uint64_t found, uint64_t counted, int64_t where) {
    int64_t* to = Room(2 * kStride + 2);
    for (found &= counted; found != 0; found &= found - 1) {
      const int64_t at = where + std::countr_zero(found);
      *to++ = at;
      *to++ = at + 1;
    }
    next_ = to;
  });
  *Room(2) = text.data() + text.size() - bytes_;
  ++next_;
}

Tensor StringParts::Take() && {
  return Tensor::Packed(kind_, {count()}, std::move(spans_), strings_.buffer());
}

Tensor StringParts::TakeAlone() && {
  constexpr size_t kMostKept = 8;
  Tensor parts = std::move(*this).Take();
  if (parts.footprint() * kMostKept >= parts.buffer()->size()) return parts;
  return parts.Alone();
}

}  // namespace penstock
