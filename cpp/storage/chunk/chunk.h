// Rows of elements as consecutive bytes, column by column, as files of rows hold them.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "data/block.h"
#include "data/spec.h"

namespace penstock {

// How the bytes of a chunk are to be read. All rows have the layout's structure, dtypes and ranks;
// a size of -1 in a leaf's shape is one that differs from row to row.
struct ChunkForm {
  ElementSpec layout;
  int64_t rows = 0;
  bool keyed = false;      // identities and indices of the rows come first; else they count up from
  uint64_t first_key = 0;  // these
  int64_t first_index = 0;
};

// The size and offset of each leaf's column when nothing in the chunk varies (numbers of equal
// shape); nullopt otherwise. The columns begin at multiples of 64, with zeros between them.
struct FixedColumns {
  std::vector<size_t> offsets;
  std::vector<size_t> row_bytes;
  size_t keys_bytes = 0;  // before the columns
  size_t bytes = 0;       // of the chunk
};
std::optional<FixedColumns> FixedColumnsOf(const ChunkForm& form);

constexpr int64_t kMostChunkRows = 1 << 16;

// Gathers rows until they are worth a chunk.
class ChunkBuilder {
 public:
  // `origins`: keep the identities of elements; else they are their numbers.
  explicit ChunkBuilder(bool origins) : origins_(origins) {}
  int64_t rows() const { return form_.rows; }
  // Adds as many of the rows from `first` on as fit, and returns how many; 0: take the chunk first.
  // Throws an Error that names the leaf for an opaque object.
  int64_t Add(const Block& block, int64_t first, const char* stage);
  bool full() const;
  // The bytes, with how to read them in `form`. The builder is empty again afterwards.
  BufferRef Take(ChunkForm* form);

 private:
  bool Joins(const Structure* structure, const std::vector<Tensor>& columns);
  int64_t Room(size_t row_bytes) const;

  const bool origins_;
  ChunkForm form_;
  size_t bytes_ = 0;
  std::vector<std::vector<Tensor>> pieces_;  // stacked columns
  std::vector<uint64_t> keys_;
  std::vector<int64_t> indices_;
};

// The rows of a chunk, views of its bytes.
class ChunkRows {
 public:
  ChunkRows() = default;
  // Throws a DataError when the bytes cannot be of this form.
  ChunkRows(ChunkForm form, BufferRef bytes);
  int64_t rows() const { return form_.rows; }
  const ChunkForm& form() const { return form_; }
  // Rows [first, first + count), stacked unless shapes vary.
  Block Rows(int64_t first, int64_t count) const;

 private:
  struct Column {
    Tensor stacked;               // of all rows; unless shapes vary: then
    std::vector<Shape> shapes;    // of each row,
    std::vector<size_t> offsets;  // and where it begins (its first item, of strings)
  };
  Column ReadColumn(const LeafSpec& leaf, size_t& at) const;
  Tensor Leaf(size_t column, int64_t row) const;

  ChunkForm form_;
  BufferRef bytes_;
  bool stacked_ = true;
  std::vector<Column> columns_;
};

// Whether `size` bytes from `data` on are values of the dtype: a bool is 0 or 1, others are
// anything.
bool AreItems(const DType& dtype, const uint8_t* data, size_t size);

// The origin of a row, and that of all rows of a block.
void ReadKeys(const ChunkForm& form, const uint8_t* keys, int64_t first, Block& block);

}  // namespace penstock
