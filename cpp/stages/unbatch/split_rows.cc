// Emits the rows of each element, and saves the position among them.
#include "stages/unbatch/split_rows.h"

#include <utility>

namespace penstock {

void SplitIterator::VisitState(StateVisitor& visitor) {
  // A partly emitted element is pulled again, and its emitted rows are skipped.
  bool pulled = !rows_.empty();
  bool open = pulled || to_skip_ > 0;
  visitor.Bool(open);
  visitor.Count(given_, "rows given of an element");
  visitor.Count(index_, "elements pulled");
  input_.VisitState(visitor, pulled && visitor.saving() ? 1 : 0);
  if (!visitor.saving()) to_skip_ = open ? given_ : 0;
}

Block SplitIterator::DoNextBlock(int64_t max_rows) {
  while (rows_.empty()) {
    input_.Keep(input_.position());
    input_.Mark();
    Step step = input_.Next();
    auto* element = std::get_if<Element>(&step);
    if (!element) {
      if (auto* error = std::get_if<Error>(&step)) index_ += !error->transient();
      return Block::Of(std::move(step));
    }
    if (to_skip_ == 0) ++index_;
    given_ = 0;
    rows_.Add(Split(std::move(*element), index_ - 1));
    int64_t skip = std::exchange(to_skip_, 0);
    while (skip > 0 && !rows_.empty()) {
      int64_t taken = rows_.Take(skip).rows;
      skip -= taken;
      given_ += taken;
    }
  }
  Block block = rows_.Take(max_rows);
  given_ += block.rows;
  return block;
}

}  // namespace penstock
