// Makes an opened result, in one piece or strip by strip.
#include "compute/op.h"

#include <algorithm>

namespace penstock {

void Unmade::Make(Tensor& out) const {
  constexpr int64_t kStripBytes = 128 << 10;  // two strips fit into a CPU's L2 cache
  if (!begin) return all(out);
  const int64_t rows = spec.shape[0];
  std::unique_ptr<Rows> made = begin({0, 0, rows, spec.shape[1]});
  if (widest == 0) return made->Next(out);
  const int64_t height = std::max<int64_t>(kStripBytes / widest, 1);
  for (int64_t first = 0; first < rows; first += height) {
    Tensor strip = out.Rows(first, std::min(height, rows - first));
    made->Next(strip);
  }
}

}  // namespace penstock
