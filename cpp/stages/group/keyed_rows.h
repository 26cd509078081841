// Rows of an input with their keys: pulls many rows together and calls the key function for all of
// them.
#pragma once

#include <limits>
#include <vector>

#include "engine/row_cursor.h"
#include "stages/group/group_key.h"

namespace penstock {

class KeyedRows {
 public:
  // `what`: the name of the stage's argument that holds the function.
  KeyedRows(IteratorPtr input, FunctionPtr key, const char* what)
      : rows_(std::move(input), kAnySize), key_(std::move(key)), what_(what) {}

  Input& input() { return rows_.input(); }
  bool empty() const { return rows_.empty(); }
  // Call when empty: pulls at most `max_rows` rows. Throws the error that followed the previous
  // rows; returns false at the end of the input.
  bool Pull(int64_t max_rows);

  // The position of the first row, in the input's count, and its key; there must be a row. `first`
  // holds the index of the input's first step, from which calls are counted. Throws the error
  // raised by the function; the row is then dropped unless the error is transient.
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
  std::vector<IntOrError> keys_;  // for all rows of the block; fewer after an interrupt
};

}  // namespace penstock
