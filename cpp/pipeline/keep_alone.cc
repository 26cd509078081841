// Which views are worth a copy.
#include "pipeline/keep_alone.h"

#include <cstring>

namespace penstock {

void KeepAlone(Element& element) {
  constexpr size_t kLittle = 4096;
  for (Tensor& leaf : element.leaves) {
    // Foreign memory is somebody else's, who keeps it anyway.
    if (leaf.is_inline() || leaf.dtype().is_reference() || leaf.buffer()->foreign()) continue;
    if (leaf.buffer()->size() <= 2 * leaf.nbytes() + kLittle) continue;
    Tensor alone = Tensor::Make(leaf.dtype(), leaf.shape());
    std::memcpy(alone.mutable_data(), leaf.data(), leaf.nbytes());
    leaf = std::move(alone);
  }
}

}  // namespace penstock
