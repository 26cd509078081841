// A dataset over rows that a stage has collected: the contents of a window or a group.
#pragma once

#include <vector>

#include "engine/dataset.h"

namespace penstock {

// The rows of `blocks` in order; they are shared, not copied. Their identities are their numbers
// from 0 on: the rows of two windows differ by the identity of the window. The errors and ends of
// the blocks are ignored.
DatasetPtr HoldRows(std::vector<Block> blocks);

}  // namespace penstock
