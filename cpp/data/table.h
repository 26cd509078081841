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

// A row of such a batch.
struct TableRow {
  const Block* batch;
  int64_t row;
};

// A copy of these rows as one block, without origins. Lists are ragged columns.
Block GatherTableRows(const ElementSpec& spec, const std::vector<TableRow>& rows);

}  // namespace penstock
