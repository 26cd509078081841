// Writing down what does not follow.
#include "data/row_places.h"

#include <algorithm>
#include <vector>

namespace penstock {

namespace {

// Grows the vector to hold `count` items, with room to spare whenever it must grow.
template <typename T>
void Grow(std::vector<T>& items, size_t count) {
  if (items.capacity() < count) items.reserve(std::max(count, 2 * items.capacity()));
}

}  // namespace

void WriteOrigin(Block& block, int64_t row, const Origin& origin) {
  if (row == 0) {
    block.first = origin;
    return;
  }
  const Origin& first = block.first;
  // All the memory first: either the row is written down, or nothing has changed.
  const auto rows = static_cast<size_t>(row) + 1;
  bool keyed = !block.keys.empty() || origin.key != first.key + static_cast<uint64_t>(row);
  const int64_t next = first.index < 0 ? -1 : first.index + row;
  bool placed = !block.origins.empty() || first.file || origin.file || origin.index != next;
  if (keyed) Grow(block.keys, rows);
  if (placed) Grow(block.origins, rows);
  if (keyed) {
    for (auto i = static_cast<int64_t>(block.keys.size()); i < row; ++i) {
      block.keys.push_back(first.key + static_cast<uint64_t>(i));
    }
    block.keys.push_back(origin.key);
  }
  if (!placed) return;
  for (auto i = static_cast<int64_t>(block.origins.size()); i < row; ++i) {
    block.origins.push_back(first);
    if (first.index >= 0) block.origins.back().index += i;
  }
  block.origins.push_back(origin);
}

}  // namespace penstock
