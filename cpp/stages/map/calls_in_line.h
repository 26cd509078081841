// Calls a map's function in the calling thread, and goes on where an interrupt has stopped it.
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
  // Steps that were pulled and not delivered.
  int64_t waiting() const {
    return results_.steps() + rows_.rows + (input_error_ && !input_error_->transient());
  }
  bool idle() const { return waiting() == 0 && !input_error_; }

  // The next results, at most as many as are asked for. When no results wait, `pull()` gives a
  // block of rows, and `info` is for the first row of it. Throws transient errors; finished results
  // and remaining rows stay for the next call.
  template <class Pull>
  Block Next(int64_t max_rows, Function& function, const CallInfo& info, Pull pull) {
    if (!results_.empty()) return results_.Take(max_rows);
    if (rows_.rows == 0) {
      if (input_error_) return Block::Of(*std::exchange(input_error_, std::nullopt));
      rows_ = pull();
      input_error_ = std::exchange(rows_.error, std::nullopt);
    }
    bool end = std::exchange(rows_.end, false);
    if (rows_.rows > 0) {
      made_.clear();
      try {
        function.Map(std::move(rows_), info, made_);
      } catch (const Error&) {  // interrupted: the rest is in rows_ for the next call
        results_.Add(std::move(made_));
        throw;
      } catch (...) {
        rows_ = Block();
        throw;
      }
      rows_ = Block();
      Block block;
      if (made_.size() == 1 && made_[0].rows <= max_rows) {
        block = std::move(made_[0]);
      } else {
        results_.Add(std::move(made_));
        block = results_.Take(max_rows);
      }
      if (end && results_.empty() && !block.error) block.end = true;
      return block;
    }
    if (input_error_) return Block::Of(*std::exchange(input_error_, std::nullopt));
    return Block::AtEnd();
  }

 private:
  PendingBlocks results_;
  std::vector<Block> made_;           // kept for its memory
  Block rows_;                        // pulled, their results not made: a call was interrupted
  std::optional<Error> input_error_;  // after them
};

}  // namespace penstock
