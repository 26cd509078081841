// Rows of Python arrays that differ in size, gathered one after the other.
#pragma once

#include <vector>

#include "data/block.h"
#include "data/spec.h"
#include "python/python.h"
#include "python/pytree.h"

namespace penstock {

class RaggedRows {
 public:
  // Adds a row whose leaves are scalars, or arrays that differ from those of the rows before only
  // in the size of their first axis. False, with nothing added, for any other row: it may still be
  // the first of a new block.
  bool Add(const Flattened& flat, const ElementSpec* declared, const Origin& origin);
  int64_t rows() const { return block_.rows; }
  // The rows that were added, in ragged form if they do differ.
  Block Take();
  void Clear() { block_ = Block(); }
  // Whether the rows of the last block did differ.
  bool likely() const { return likely_; }

 private:
  struct Gathered {
    DType dtype;
    Shape shape;         // of the first row
    bool array = false;  // else a scalar
    BufferRef memory;
    size_t used = 0;   // bytes of it
    size_t usual = 0;  // of a block before
    std::vector<int64_t> ends;
  };
  bool Begin(const Flattened& flat, const ElementSpec* declared, const Origin& origin);
  static bool HasOneShape(const Gathered& column);
  static bool Fits(const Gathered& column, PyObject* leaf, const LeafSpec* declared);
  static uint8_t* Room(Gathered& column, size_t bytes);

  Block block_;
  std::vector<Gathered> columns_;
  bool likely_ = false;
};

}  // namespace penstock
