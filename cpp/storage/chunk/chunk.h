// Rows of elements as consecutive bytes, column by column, as stored in files of rows.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "data/block.h"
#include "data/spec.h"

namespace penstock {

// How to read the bytes of a chunk. All rows have the layout's structure, dtypes and ranks; a size
// of -1 in a leaf's shape varies from row to row.
struct ChunkForm {
  ElementSpec layout;
  int64_t rows = 0;
  bool keyed = false;      // rows' keys and indices are stored; otherwise
  uint64_t first_key = 0;  // they count up from these
  int64_t first_index = 0;
};

// The offset and row size of each leaf's column if nothing in the chunk varies (numbers of equal
// shape); nullopt otherwise. Columns begin at multiples of 64, with zeros between them.
struct FixedColumns {
  std::vector<size_t> offsets;
  std::vector<size_t> row_bytes;
  size_t keys_bytes = 0;  // before the columns
  size_t bytes = 0;       // of the chunk
};
std::optional<FixedColumns> FixedColumnsOf(const ChunkForm& form);

constexpr int64_t kMostChunkRows = 1 << 16;

// Collects rows until there are enough for a chunk.
class ChunkBuilder {
 public:
  // `origins`: store the elements' keys; otherwise the keys are row numbers.
  explicit ChunkBuilder(bool origins) : origins_(origins) {}
  int64_t rows() const { return form_.rows; }
  // Adds as many of the rows from `first` on as fit, and returns how many; 0: take the chunk first.
  // Throws an Error that names the leaf if it is an opaque object.
  int64_t Add(const Block& block, int64_t first, const char* stage);
  bool full() const;
  // Returns the bytes, and sets `form` to read them. The builder is empty afterwards.
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

// The rows of a chunk, as views of its bytes.
class ChunkRows {
 public:
  ChunkRows() = default;
  // Throws a DataError if the bytes cannot have this form.
  ChunkRows(ChunkForm form, BufferRef bytes);
  int64_t rows() const { return form_.rows; }
  const ChunkForm& form() const { return form_; }
  // Rows [first, first + count), stacked unless shapes vary.
  Block Rows(int64_t first, int64_t count) const;

 private:
  struct Column {
    Tensor stacked;               // all rows; unused if shapes vary: then
    std::vector<Shape> shapes;    // the shape of each row,
    std::vector<size_t> offsets;  // and where it begins (for strings, its first item)
  };
  Column ReadColumn(const LeafSpec& leaf, size_t& at) const;
  Tensor Leaf(size_t column, int64_t row) const;

  ChunkForm form_;
  BufferRef bytes_;
  bool stacked_ = true;
  std::vector<Column> columns_;
};

// Whether `size` bytes from `data` on are valid values of the dtype: a bool must be 0 or 1, other
// types accept anything.
bool AreItems(const DType& dtype, const uint8_t* data, size_t size);

// Sets the origins of the rows of a block.
void ReadKeys(const ChunkForm& form, const uint8_t* keys, int64_t first, Block& block);

}  // namespace penstock
