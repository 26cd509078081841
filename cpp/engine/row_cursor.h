// Iterates over the rows of an input that is pulled in blocks.
#pragma once

#include <optional>
#include <vector>

#include "data/block_size.h"
#include "engine/input.h"

namespace penstock {

// Holds the current block, its next row, and the error or end that follows its rows. After a
// restore, rows that were not consumed are pulled again.
class RowCursor {
 public:
  // `bytes_together` limits the size of blocks whose rows are copied or kept for long. Rows that
  // can only be copied with the foreign lock are then pulled individually. 0: rows are only passed
  // on, without a limit.
  explicit RowCursor(IteratorPtr iterator, int64_t bytes_together = 0)
      : input_(std::move(iterator)), together_(bytes_together) {}

  // Pulls at most `max_rows` rows. Call when the current block is empty.
  void Pull(int64_t max_rows);
  // Pulls more until `rows` rows are left in the current block or the input cannot extend it. Only
  // for inputs where pulling early has no effect visible to the user.
  void Extend(int64_t rows);

  bool empty() const { return next_ == block_.rows; }
  int64_t left() const { return block_.rows - next_; }
  // The current block, and the index of its next row.
  const Block& block() const { return block_; }
  int64_t next() const { return next_; }
  // Moves the next row out.
  Element Take();
  // Take for rows that a function sees before they are passed on: arrays that no one else
  // references belong to the row, unless the function keeps them. Use it for all rows of a block,
  // from the first one on.
  Element TakeOwn();
  // Moves these rows out of an untouched block and skips the others. If it throws, all rows stay in
  // place.
  Block TakeRows(const std::vector<int64_t>& chosen);
  void Pass() { ++next_; }
  // Puts back the row taken last, because processing it was interrupted.
  void Return(Element taken);

  // Whether an error follows the last row.
  bool failed() const { return block_.error.has_value(); }
  bool interrupted() const { return failed() && block_.error->transient(); }
  bool ended() const { return !failed() && block_.end; }
  Error TakeError() { return *std::exchange(block_.error, std::nullopt); }

  // Steps pulled but not consumed.
  int64_t waiting() const { return block_.steps() - next_ + (after_ ? after_->steps() : 0); }
  // The number of input steps before the next one.
  int64_t position() const { return input_.position() - waiting(); }
  Input& input() { return input_; }
  // `back`: consumed steps that are also pulled again.
  void VisitState(StateVisitor& visitor, int64_t back = 0) {
    input_.VisitState(visitor, waiting() + back);
  }

 private:
  Input input_;
  Block block_;
  std::optional<Block> after_;  // pulled after `block_`, but could not be appended to it
  int64_t next_ = 0;
  BytesTogether together_;
};

}  // namespace penstock
