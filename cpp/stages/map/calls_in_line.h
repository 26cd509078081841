// Calls a map's function in the calling thread, and resumes where an interrupt stopped it.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "compute/function.h"
#include "data/pending.h"

namespace penstock {

// Used by one thread at a time.
class CallsInLine final {
 public:
  // Steps pulled but not delivered.
  int64_t waiting() const {
    return results_.steps() + rows_.rows + (input_error_ && !input_error_->transient());
  }
  bool idle() const { return waiting() == 0 && !input_error_; }

  // Returns the next results, at most `max_rows`. If no results are waiting, `pull()` returns a
  // block of rows, and `info` applies to its first row. Throws transient errors; finished results
  // and remaining rows are kept for the next call.
  template <class Pull>
  Block Next(int64_t max_rows, Function& function, const CallInfo& info, Pull pull) {
    if (!results_.empty()) return results_.Take(max_rows);
    if (rows_.rows == 0 && input_error_) return TakeError();
    Block rows = rows_.rows > 0 ? std::exchange(rows_, Block()) : pull();
    if (rows.error) input_error_ = std::exchange(rows.error, std::nullopt);
    if (rows.rows == 0) return input_error_ ? TakeError() : Block::AtEnd();
    const bool end = std::exchange(rows.end, false);
    made_.clear();
    try {
      function.Map(std::move(rows), info, made_);
    } catch (const Error&) {  // interrupted: the next call produces the rest
      rows_ = std::move(rows);
      results_.Add(std::move(made_));
      throw;
    }
    return TakeMade(max_rows, end);
  }

 private:
  Block TakeError() { return Block::Of(*std::exchange(input_error_, std::nullopt)); }

  // Returns the results in made_. `end`: nothing follows them.
  Block TakeMade(int64_t max_rows, bool end) {
    const bool whole = made_.size() == 1 && made_[0].rows <= max_rows;
    if (!whole) results_.Add(std::move(made_));
    Block block = whole ? std::move(made_[0]) : results_.Take(max_rows);
    if (end && results_.empty() && !block.error) block.end = true;
    return block;
  }

  PendingBlocks results_;
  std::vector<Block> made_;           // of the current call; reused for its memory
  Block rows_;                        // pulled but not mapped, because a call was interrupted
  std::optional<Error> input_error_;  // follows them
};

}  // namespace penstock
