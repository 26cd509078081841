// Where things lie in a chunk: what the builder and the reader of chunks share.
#pragma once

#include <algorithm>
#include <cstddef>

#include "data/spec.h"

namespace penstock {

constexpr size_t kColumnAlign = 64;  // of columns and tables
constexpr size_t kSpanSize = 16;     // begin and end of a string
constexpr size_t kRowAlign = 16;     // of rows whose shapes vary: the largest item

constexpr size_t AlignUp(size_t at, size_t alignment) {
  return (at + alignment - 1) / alignment * alignment;
}

inline bool Varies(const LeafSpec& leaf) {
  auto sizes = leaf.shape.dims();
  return std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size < 0; });
}

}  // namespace penstock
