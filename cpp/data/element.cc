// Elements: their memory use, and copies that do not pin other rows.
#include "data/element.h"

namespace penstock {

size_t Element::footprint() const {
  size_t bytes = 0;
  for (auto& leaf : leaves) bytes += leaf.footprint();
  return bytes;
}

void Element::KeepAlone() {
  constexpr size_t kLittle = 512;
  for (Tensor& leaf : leaves) {
    // The owner of foreign memory keeps it anyway.
    if (leaf.is_inline() || leaf.storage() == Storage::kObjects || leaf.buffer()->foreign())
      continue;
    if (leaf.buffer()->size() <= 2 * leaf.footprint() + kLittle) continue;
    leaf = leaf.Alone();
  }
}

}  // namespace penstock
