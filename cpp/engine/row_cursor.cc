// Pulls blocks of a suitable size, and takes rows out of them.
#include "engine/row_cursor.h"

#include <algorithm>
#include <utility>

namespace penstock {

void RowCursor::Pull(int64_t max_rows) {
  next_ = 0;
  block_ = Block();  // frees its memory, which the next block may need
  if (after_) {
    block_ = *std::exchange(after_, std::nullopt);
    return;
  }
  block_ = input_.NextBlock(std::min(max_rows, together_.rows()));
  if (!together_.limited() || block_.rows == 0) return;
  together_.Learn(block_.rows, block_.footprint(), !block_.CanBeAlone());
}

void RowCursor::Extend(int64_t rows) {
  while (left() < rows && !block_.last() && !after_) {
    Block next = input_.NextBlock(rows - left());
    if (next.rows > 0) {
      block_.Separate();
      next.Separate();
      if (!block_.Concat(next)) {
        after_ = std::move(next);
        return;
      }
    }
    block_.error = std::move(next.error);
    block_.end = next.end;
  }
}

Element RowCursor::Take() {
  const int64_t row = next_++;
  if (block_.elements.empty()) return block_.Row(row);
  return std::move(block_.elements[static_cast<size_t>(row)]);
}

Element RowCursor::TakeOwn() {
  if (block_.rows > 1) block_.Separate();
  Element row = Take();
  block_.columns.clear();  // they refer to its arrays
  return row;
}

void RowCursor::Return(Element taken) {
  --next_;
  if (!block_.elements.empty()) {
    block_.elements[static_cast<size_t>(next_)] = std::move(taken);
  } else if (block_.columns.empty() && block_.rows == 1) {  // after TakeOwn
    block_.elements.push_back(std::move(taken));
  }
}

Block RowCursor::TakeRows(const std::vector<int64_t>& chosen) {
  Block taken = block_.Take(chosen);
  next_ = block_.rows;
  return taken;
}

}  // namespace penstock
