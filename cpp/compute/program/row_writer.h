// Where the results of a native function go: into a batch that is being made, or into columns.
#pragma once

#include <vector>

#include "compute/function.h"

namespace penstock {

// Collects up to `rows` results, one after the other. A leaf may be asked for its place before it
// is made; rows of one shape come out stacked, others one by one.
class RowWriter {
 public:
  RowWriter(const Structure* structure, size_t leaves, int64_t rows, const CallInfo& info)
      : structure_(structure), info_(info), left_(rows), places_(leaves), columns_(leaves) {}

  // Memory for a leaf of the next row.
  Tensor Place(size_t leaf, DType dtype, const Shape& shape);
  // The next row, whose leaves may or may not be those that Place has given.
  void Add(std::vector<Tensor> leaves, Origin origin);
  void AddError(Error error);
  // The blocks, in order.
  void Finish(std::vector<Block>& out);

 private:
  void AddToBatch(std::vector<Tensor> leaves, Origin origin);
  bool AddToColumns(const std::vector<Tensor>& leaves, const Origin& origin);
  bool StartColumns(const std::vector<Tensor>& leaves);
  void CloseColumns();

  const StructureRef structure_;
  const CallInfo& info_;
  int64_t left_;                 // rows that are still to come
  int64_t row_ = 0;              // of the placer
  std::vector<Tensor> places_;   // given out for the next row: [1, shape...] or empty
  std::vector<Tensor> columns_;  // [rows, shape...] of the open block
  int64_t open_rows_ = 0;
  Block open_;
  std::vector<Block> done_;
};

}  // namespace penstock
