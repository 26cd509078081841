// A table in foreign memory: rows as columns of several blocks.
#pragma once

#include <vector>

#include "data/block.h"
#include "data/spec.h"

namespace penstock {

struct Table {
  ElementSpec spec;            // of a row
  std::vector<Block> batches;  // non-empty, in columns: stacked or ragged
};

// A row of a batch of a table.
struct TableRow {
  const Block* batch;
  int64_t row;
};

// Copies these rows into one block, without origins. Lists become ragged columns.
Block GatherTableRows(const ElementSpec& spec, const std::vector<TableRow>& rows);

}  // namespace penstock
