// Iterates over the rows of a file of rows.
#pragma once

#include <memory>
#include <vector>

#include "data/pending.h"
#include "storage/chunk/chunk_file.h"

namespace penstock {

// Holds the rows of one chunk, and the batch that they are read into.
class ChunkCursor {
 public:
  // `batch_rows`: the number of rows that the consumer stacks; rows are then read directly into its
  // batch. 0: it does not stack them.
  ChunkCursor(std::shared_ptr<const ChunkIndex> index, int64_t batch_rows)
      : index_(std::move(index)), batch_rows_(batch_rows) {}

  int64_t row() const { return row_; }
  // The next rows. The end is reported with the last one. Throws a DataError for a damaged chunk;
  // the next call continues with the next chunk.
  Block Next(int64_t max_rows);
  void Seek(int64_t row);
  const ChunkIndex& index() const { return *index_; }

 private:
  void Load(int64_t max_rows);
  bool FillsSlabs(const FixedColumns& fixed) const;
  void ReadIntoSlabs(size_t chunk, const FixedColumns& fixed, int64_t max_rows);
  std::vector<Block> Divide(const ChunkForm& form, int64_t max_rows);

  std::shared_ptr<const ChunkIndex> index_;
  const int64_t batch_rows_;
  int64_t row_ = 0;
  ChunkRows chunk_;  // a chunk read as a whole,
  int64_t chunk_first_ = 0;
  PendingBlocks held_;  // or one read into slabs
  SlabRows left_;       // the unfilled rows of the last slab
  ElementSpec layout_;  // of its rows
};

}  // namespace penstock
