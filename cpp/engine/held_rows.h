// A dataset of rows that a stage collected: the contents of a window or a group.
#pragma once

#include <vector>

#include "engine/dataset.h"

namespace penstock {

// The rows of `blocks` in order, shared, not copied. Their identities are their indices, so rows of
// two windows differ by the identity of the window. Errors and ends of the blocks are ignored.
DatasetPtr HoldRows(std::vector<Block> blocks);

}  // namespace penstock
