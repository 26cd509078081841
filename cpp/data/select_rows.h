// Some of the rows of a block.
#pragma once

#include <vector>

#include "data/element.h"

namespace penstock {

// Moves out the rows of these numbers, which ascend; there is at least one. All stay where they are
// when this throws.
Block SelectRows(Block& rows, const std::vector<int64_t>& chosen);

}  // namespace penstock
