// Builds blocks from rows.
#pragma once

#include <vector>

#include "data/block.h"

namespace penstock {

// Collects up to `rows` rows in order. Rows of one shape are stacked, others stay separate. Memory
// for a leaf may be requested before the leaf is produced. With `slabs`, rows with arrays are
// written into the memory of their batches, starting with row number `first_row`.
class BlockBuilder {
 public:
  explicit BlockBuilder(int64_t rows, Slabs* slabs = nullptr, int64_t first_row = 0)
      : slabs_(slabs), first_row_(first_row), left_(rows) {}

  // Returns memory for a leaf of the next row.
  Tensor MemoryFor(size_t leaf, DType dtype, const Shape& shape);
  // Adds the next row. Its leaves may be in the memory returned by MemoryFor, or elsewhere.
  void Add(Element row);
  // Adds the next row without stacking it, except in a slab.
  void AddAlone(Element row);
  // Adds the next rows.
  void Add(Block rows);
  // Records that the next row failed with this error.
  void AddError(Error error);
  // Returns the blocks in order. Releases the foreign lock for pending large copies.
  void Finish(std::vector<Block>& out);

 private:
  struct Copy {
    Tensor to;  // owns the memory, even if its row is dropped
    Tensor from;
  };

  bool IsLent(size_t leaf, const Tensor& made) const;
  Tensor InSlab(size_t leaf, DType dtype, const Shape& shape);
  void AddToSlab(Element row);
  bool AddToColumns(const Element& row);
  bool StartColumns(const Element& row);
  void CloseColumns();
  void Passed(int64_t rows);

  Slabs* const slabs_;
  const int64_t first_row_;
  int64_t left_;                 // rows still to come
  int64_t added_ = 0;            // rows
  SlabRows at_;                  // the next row, once it is assigned
  std::vector<Tensor> lent_;     // memory for the next row: [1, shape...] or empty
  std::vector<Tensor> columns_;  // of the open block, with room for all rows to come
  Block open_;                   // without columns
  std::vector<Block> done_;
  std::vector<Copy> copies_;  // pending
};

}  // namespace penstock
