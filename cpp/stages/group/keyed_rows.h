// Rows of an input with the key that a function gives for each: many are pulled at a time, and the
// function is called for all of them.
#pragma once

#include <limits>
#include <vector>

#include "engine/row_cursor.h"
#include "stages/group/group_key.h"

namespace penstock {

class KeyedRows {
 public:
  // `what`: the argument of the stage that the function is.
  KeyedRows(IteratorPtr input, FunctionPtr key, const char* what)
      : rows_(std::move(input), kAnySize), key_(std::move(key)), what_(what) {}

  Input& input() { return rows_.input(); }
  bool empty() const { return rows_.empty(); }
  // Once it is empty: pulls at most `max_rows` rows. Throws the error that came after the last
  // ones; false at the end of the input.
  bool Pull(int64_t max_rows);

  // The position of the first row, as the input counts, and its key; there must be a row. `first`
  // holds the number of the input's first step, from which calls count. Throws what the function
  // raised; the row is then left out, unless the error is transient.
  int64_t position() const { return rows_.position(); }
  Origin origin() const { return rows_.block().origin(rows_.next()); }
  int64_t Key(const CallInfo& first);
  Element Take();
  void LeaveOut() { rows_.Pass(); }

 private:
  static constexpr int64_t kAnySize = std::numeric_limits<int64_t>::max();

  RowCursor rows_;
  const FunctionPtr key_;
  const char* const what_;
  std::vector<IntOrError> keys_;  // of all rows of the block; of fewer after an interrupt
};

}  // namespace penstock
