// The rows of an input one by one, though blocks of them are pulled.
#pragma once

#include <optional>
#include <vector>

#include "data/block_size.h"
#include "engine/input.h"

namespace penstock {

// Holds the block that was pulled last: which of its rows comes next, and the error or the end that
// comes after them. A state pulls again what was not handed on.
class RowCursor {
 public:
  // `bytes_together` limits the size of a block whose rows are copied or kept for long; rows that
  // can be copied with the foreign lock only are then pulled one by one. 0: rows are only passed
  // on, and there is no limit.
  explicit RowCursor(IteratorPtr iterator, int64_t bytes_together = 0)
      : input_(std::move(iterator)), together_(bytes_together) {}

  // Once nothing is left of the block before: pulls at most `max_rows` rows.
  void Pull(int64_t max_rows);
  // Pulls more blocks until `rows` rows are left in this block, or the input cannot extend it. Only
  // for inputs where pulling early has no effect that a user could see.
  void Extend(int64_t rows);

  bool empty() const { return next_ == block_.rows; }
  int64_t left() const { return block_.rows - next_; }
  // The block of the next row, and its number there.
  const Block& block() const { return block_; }
  int64_t next() const { return next_; }
  // Moves the next row out.
  Element Take();
  // The same for someone who shows it to a function before it goes on: arrays that no one else has
  // are its own, unless the function keeps them. For all rows of a block, and none was shown
  // before.
  Element TakeOwn();
  // Moves these rows out of a block of which none was taken, and passes over the others. All stay
  // where they are when this throws.
  Block TakeRows(const std::vector<int64_t>& chosen);
  void Pass() { ++next_; }
  // The row that was taken last comes again, because the work on it was interrupted.
  void Return(Element taken);

  // Whether an error comes after the last row.
  bool failed() const { return block_.error.has_value(); }
  bool interrupted() const { return failed() && block_.error->transient(); }
  bool ended() const { return !failed() && block_.end; }
  Error TakeError() { return *std::exchange(block_.error, std::nullopt); }

  // Steps that were pulled and not handed on.
  int64_t waiting() const { return block_.steps() - next_ + (after_ ? after_->steps() : 0); }
  // How many steps of the input came before the next one.
  int64_t position() const { return input_.position() - waiting(); }
  Input& input() { return input_; }
  // `back`: steps that were handed on and are pulled again as well.
  void VisitState(StateVisitor& visitor, int64_t back = 0) {
    input_.VisitState(visitor, waiting() + back);
  }

 private:
  Input input_;
  Block block_;
  std::optional<Block> after_;  // pulled after `block_`, which it could not join
  int64_t next_ = 0;
  BytesTogether together_;
};

}  // namespace penstock
