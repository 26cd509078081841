// Where the rows of columns in the making come from.
#pragma once

#include "element/element.h"

namespace penstock {

// Notes that row number `row` of a block, of which those before it are noted, is from `origin`.
// Identities and places are written down from the first row on that does not follow the one before.
void NoteOrigin(Block& block, int64_t row, const Origin& origin);

// Whether nothing is to be noted: it follows the rows before, as row `from` of `source` does there.
inline bool Follows(const Block& block, int64_t row, const Block& source, int64_t from) {
  return row > 0 && source.stacked() && !source.first.file && source.origins.empty() &&
         block.keys.empty() && block.origins.empty() && !block.first.file &&
         source.key(from) == block.first.key + static_cast<uint64_t>(row) &&
         source.index(from) == block.index(row);
}

}  // namespace penstock
