// Rows as the columns of several blocks: a table whose memory is someone else's.
#pragma once

#include <vector>

#include "data/block.h"
#include "data/spec.h"

namespace penstock {

struct Table {
  ElementSpec spec;            // of a row
  std::vector<Block> batches;  // with at least one row each, in columns: stacked or ragged
};

}  // namespace penstock
