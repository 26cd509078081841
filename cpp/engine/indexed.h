// Random access to the rows of a source: lets shuffle buffer indices and batch gather rows.
#pragma once

#include <utility>

#include "engine/iterator.h"

namespace penstock {

class Dataset;

class Indexed {
 public:
  virtual ~Indexed() = default;
  virtual int64_t size() const = 0;
  // Rows [first, first + count), stacked; row i has key and index i. A source that reads them may
  // return fewer, but at least one; the row after them may be an error. Thread-safe.
  virtual Block Rows(int64_t first, int64_t count) const = 0;
  // The rows at `indices`, as for Rows; their keys are the indices.
  virtual Block Gather(const int64_t* indices, int64_t count) const = 0;
  // The approximate number of bytes per row.
  virtual int64_t row_bytes() const { return 0; }
};

// Reads up to `count` rows starting at `first_row` with `read`, as a block. If that fails, reads
// smaller ranges to find the row that caused the error.
template <typename Read>
Block RowsOrError(int64_t first_row, int64_t count, const Read& read) {
  for (;; count = (count + 1) / 2) {
    try {
      return read(count);
    } catch (const Error& error) {
      if (error.transient()) throw;
      if (count > 1) continue;
      Error failed = error;
      Origin origin = failed.origin();
      origin.key = static_cast<uint64_t>(first_row);
      origin.index = first_row;
      return Block::Of(failed.At(std::move(origin)));
    }
  }
}

// All rows in order. `owner` keeps `rows` alive.
IteratorPtr MakeRowIterator(std::shared_ptr<const Dataset> owner, const Indexed& rows);

}  // namespace penstock
