// Rows in, blocks out.
#pragma once

#include <vector>

#include "data/block.h"

namespace penstock {

// Collects up to `rows` rows, one after the other. Rows of one shape come out stacked, others one
// by one. Memory for a leaf may be asked for before it is made. With `slabs`, rows with arrays are
// written into the memory of the batches that they will join, as rows from number `first_row` on.
class BlockBuilder {
 public:
  explicit BlockBuilder(int64_t rows, Slabs* slabs = nullptr, int64_t first_row = 0)
      : slabs_(slabs), first_row_(first_row), left_(rows) {}

  // Memory for a leaf of the next row.
  Tensor MemoryFor(size_t leaf, DType dtype, const Shape& shape);
  // Adds the next row. Its leaves may be in the memory that MemoryFor has given, or elsewhere.
  void Add(Element row);
  // Adds the next row, which is stacked with others only in a slab.
  void AddAlone(Element row);
  // The next rows.
  void Add(Block rows);
  // The next row has failed with this error.
  void AddError(Error error);
  // The blocks, in order. Gives up the foreign lock for what is large and still to be copied.
  void Finish(std::vector<Block>& out);

 private:
  struct Copy {
    Tensor to;  // owns the memory, even when its row is dropped
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
  int64_t left_;                 // rows that are still to come
  int64_t added_ = 0;            // rows
  SlabRows at_;                  // the next row, once it is known
  std::vector<Tensor> lent_;     // given out for the next row: [1, shape...] or empty
  std::vector<Tensor> columns_;  // of the open block, with room for all that is to come
  Block open_;                   // without columns
  std::vector<Block> done_;
  std::vector<Copy> copies_;  // still to be made
};

}  // namespace penstock
