// Rows of an input with the key that a function gives for each: many are pulled at a time, and the
// function is called for all of them.
#pragma once

#include <vector>

#include "engine/input.h"
#include "stages/group/group_key.h"

namespace penstock {

class KeyedRows {
 public:
  // `what`: the argument of the stage that the function is.
  KeyedRows(Input& input, FunctionPtr key, const char* what)
      : input_(input), key_(std::move(key)), what_(what) {}

  // Elements and errors that were pulled, and neither taken nor thrown.
  int64_t waiting() const {
    return rows_.rows - next_ + (rows_.error && !rows_.error->transient());
  }
  bool empty() const { return next_ == rows_.rows; }
  // Once it is empty: pulls at most `max_rows` rows. Throws the error that came after the last
  // ones; false at the end of the input.
  bool Pull(int64_t max_rows);

  // Of the first row, which there is: its place, as the input counts, and its key. `first` tells
  // calls where they are: in it is the number of the input's first step. Throws what the function
  // raised; then, but for transient errors, the row is left out.
  int64_t position() const { return pulled_at_ + next_; }
  Origin origin() const { return rows_.origin(next_); }
  int64_t Key(const CallInfo& first);
  Element Take();
  void LeaveOut() { ++next_; }

 private:
  Input& input_;
  const FunctionPtr key_;
  const char* const what_;
  Block rows_;                    // and what came behind them
  int64_t pulled_at_ = 0;         // the position of the first one
  int64_t together_ = 1;          // rows that may be pulled at a time
  int64_t next_ = 0;              // the first one that was not taken
  std::vector<IntOrError> keys_;  // of all rows; of fewer after an interrupt
};

}  // namespace penstock
