// Rows of a source by their positions: what lets shuffle buffer indices and batch gather rows.
#pragma once

#include <utility>

#include "engine/iterator.h"

namespace penstock {

class Dataset;

class Indexed {
 public:
  virtual ~Indexed() = default;
  virtual int64_t size() const = 0;
  // Rows [first, first + count), stacked; the key and index of row i are i. Rows that are read may
  // be fewer, at least one, and the next one of them may be an error. From any thread.
  virtual Block Rows(int64_t first, int64_t count) const = 0;
  // The rows at `indices`, likewise; their keys are the indices.
  virtual Block Gather(const int64_t* indices, int64_t count) const = 0;
  // Bytes of a row, roughly.
  virtual int64_t row_bytes() const { return 0; }
};

// Reads up to `count` rows from `first_row` on with `read`, as a block. If that fails, reads
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
