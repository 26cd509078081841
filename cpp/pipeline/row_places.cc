// Writing down what does not follow.
#include "pipeline/row_places.h"

namespace penstock {

void WriteOrigin(Block& block, int64_t row, const Origin& origin) {
  if (row == 0) {
    block.first = origin;
    return;
  }
  const Origin& first = block.first;
  if (!block.keys.empty() || origin.key != first.key + static_cast<uint64_t>(row)) {
    for (auto i = static_cast<int64_t>(block.keys.size()); i < row; ++i) {
      block.keys.push_back(first.key + static_cast<uint64_t>(i));
    }
    block.keys.push_back(origin.key);
  }
  const int64_t next = first.index < 0 ? -1 : first.index + row;
  if (block.origins.empty() && !first.file && !origin.file && origin.index == next) return;
  for (auto i = static_cast<int64_t>(block.origins.size()); i < row; ++i) {
    block.origins.push_back(first);
    if (first.index >= 0) block.origins.back().index += i;
  }
  block.origins.push_back(origin);
}

}  // namespace penstock
