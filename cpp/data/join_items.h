// Puts the items of several arrays one behind the other in new memory.
#pragma once

#include <vector>

#include "data/tensor.h"

namespace penstock {

// The items of `parts`, in order, under `shape`. All have this dtype, but arrays without items may
// have another one. Strings stay where they are when there is one part, and little around it.
Tensor JoinItems(DType dtype, const Shape& shape, const std::vector<const Tensor*>& parts);

}  // namespace penstock
