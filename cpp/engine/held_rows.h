// A dataset over rows that a stage has collected: the contents of a window or a group.
#pragma once

#include <vector>

#include "engine/dataset.h"

namespace penstock {

// The rows of `parts`, one part after the other; they are shared, not copied. Their identities are
// their numbers from 0 on: what tells the rows of one window from those of another is the identity
// of the window. Neither errors nor ends of the parts are looked at.
DatasetPtr HoldRows(std::vector<Block> parts);

}  // namespace penstock
