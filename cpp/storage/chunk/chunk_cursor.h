// Going through the rows of a file of rows.
#pragma once

#include <deque>

#include "storage/chunk/chunk_file.h"

namespace penstock {

// Holds the rows of one chunk, and the batch that they are read into.
class ChunkCursor {
 public:
  // `batch_rows`: the rows that the consumer stacks, which are then read into its batch; 0: it
  // stacks none.
  ChunkCursor(std::shared_ptr<const ChunkIndex> index, int64_t batch_rows)
      : index_(std::move(index)), batch_rows_(batch_rows) {}

  int64_t row() const { return row_; }
  // The next rows; the end comes with the last one. Throws a DataError for a damaged chunk; the
  // rows of the next one follow.
  Block Next(int64_t max_rows);
  void Seek(int64_t row);
  const ChunkIndex& index() const { return *index_; }

 private:
  struct Held {  // rows that have been read, of one batch
    int64_t rows;
    std::vector<Tensor> columns;  // stacked, in the batch's memory
    Block origins;                // their keys
  };
  // The memory of a batch, and how many of its rows are there.
  struct Slab {
    ElementSpec layout;
    int64_t rows = 0;
    int64_t filled = 0;
    std::vector<Tensor> columns;
  };

  void Load(int64_t max_rows);
  bool Places(const FixedColumns& fixed) const;
  void ReadPlaced(size_t chunk, const FixedColumns& fixed, int64_t max_rows);
  std::vector<std::pair<Slab, int64_t>> Divide(const ChunkForm& form, int64_t max_rows);

  std::shared_ptr<const ChunkIndex> index_;
  const int64_t batch_rows_;
  int64_t row_ = 0;
  ChunkRows chunk_;  // read as a whole
  int64_t chunk_first_ = 0;
  std::deque<Held> held_;  // or read in pieces
  Slab slab_;              // the last one, when it is not full
};

}  // namespace penstock
