// Pulling blocks of a size that suits their rows, and taking rows out of them.
#include "engine/row_cursor.h"

#include <algorithm>
#include <utility>

namespace penstock {

void RowCursor::Pull(int64_t max_rows) {
  next_ = 0;
  block_ = Block();  // its memory may be needed for the next one
  block_ = input_.NextBlock(bytes_together_ > 0 ? std::min(max_rows, together_) : max_rows);
  if (bytes_together_ == 0 || block_.rows == 0) return;
  const int64_t each = static_cast<int64_t>(block_.footprint()) / block_.rows;
  together_ = block_.CanBeAlone() ? std::max<int64_t>(bytes_together_ / (each + 1), 1) : 1;
}

Element RowCursor::Take() {
  const int64_t row = next_++;
  if (block_.elements.empty()) return block_.Row(row);
  return std::move(block_.elements[static_cast<size_t>(row)]);
}

void RowCursor::Return(Element taken) {
  --next_;
  if (!block_.elements.empty()) block_.elements[static_cast<size_t>(next_)] = std::move(taken);
}

Block RowCursor::TakeRows(const std::vector<int64_t>& chosen) {
  Block taken = block_.Take(chosen);
  next_ = block_.rows;
  return taken;
}

}  // namespace penstock
