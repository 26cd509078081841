// Where the rows of columns in the making come from.
#pragma once

#include "data/element.h"

namespace penstock {

// Whether a row of this identity and position, of no file, follows the `row` rows of a block that
// are noted, which follow each other.
inline bool Follows(const Block& block, int64_t row, uint64_t key, int64_t index) {
  const Origin& first = block.first;
  return row > 0 && block.keys.empty() && block.origins.empty() && !first.file &&
         key == first.key + static_cast<uint64_t>(row) &&
         index == (first.index < 0 ? -1 : first.index + row);
}

// Writes down identities and places, also of the rows before where they followed so far.
void WriteOrigin(Block& block, int64_t row, const Origin& origin);

// Notes that row number `row` of a block, of which those before it are noted, is from `origin`.
inline void NoteOrigin(Block& block, int64_t row, const Origin& origin) {
  if (origin.file || !Follows(block, row, origin.key, origin.index))
    WriteOrigin(block, row, origin);
}

// The same of a row of `source`.
inline void NoteOrigin(Block& block, int64_t row, const Block& source, int64_t from) {
  const Origin& first = source.first;
  const bool plain = source.keys.empty() && source.origins.empty() && !first.file;
  if (plain && source.stacked() &&
      Follows(block, row, first.key + static_cast<uint64_t>(from),
              first.index < 0 ? -1 : first.index + from)) {
    return;
  }
  NoteOrigin(block, row, source.origin(from));
}

}  // namespace penstock
