// The layout of a chunk, shared by the builder and the reader of chunks.
#pragma once

#include <algorithm>
#include <cstddef>

#include "data/spec.h"

namespace penstock {

constexpr size_t kColumnAlign = 64;  // of columns and tables
constexpr size_t kSpanSize = 16;     // begin and end of a string
constexpr size_t kRowAlign = 16;     // of rows with varying shapes: the size of the largest item

constexpr size_t AlignUp(size_t at, size_t alignment) {
  return (at + alignment - 1) / alignment * alignment;
}

inline bool Varies(const LeafSpec& leaf) {
  auto sizes = leaf.shape.dims();
  return std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size < 0; });
}

}  // namespace penstock
