// Which views are worth a copy.
#include "data/keep_alone.h"

#include <algorithm>

namespace penstock {

void KeepAlone(Element& element) {
  constexpr size_t kLittle = 512;
  for (Tensor& leaf : element.leaves) {
    // Foreign memory is somebody else's, who keeps it anyway.
    if (leaf.is_inline() || leaf.storage() == Storage::kObjects || leaf.buffer()->foreign())
      continue;
    if (leaf.buffer()->size() <= 2 * leaf.footprint() + kLittle) continue;
    leaf = leaf.Alone();
  }
}

bool CanBeAlone(const Block& rows) {
  if (rows.rows == 0) return true;
  const auto& leaves = rows.elements.empty() ? rows.columns : rows.elements[0].leaves;
  return std::none_of(leaves.begin(), leaves.end(),
                      [](const Tensor& leaf) { return leaf.storage() == Storage::kObjects; });
}

}  // namespace penstock
