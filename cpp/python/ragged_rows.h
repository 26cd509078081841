// Gathers rows of Python arrays that differ in size, back to back in memory.
#pragma once

#include <vector>

#include "data/block.h"
#include "data/spec.h"
#include "python/python.h"
#include "python/pytree.h"

namespace penstock {

class RaggedRows {
 public:
  // Adds a row whose leaves are scalars, or arrays that differ from those of the previous rows only
  // in the size of their first axis. Otherwise adds nothing and returns false; the row may still be
  // the first of a new block.
  bool Add(const Flattened& flat, const ElementSpec* declared, const Origin& origin);
  int64_t rows() const { return block_.rows; }
  // The added rows, in ragged form if their sizes differ.
  Block Take();
  void Clear() { block_ = Block(); }
  // Whether the sizes differed in the last block.
  bool likely() const { return likely_; }

 private:
  struct Gathered {
    DType dtype;
    Shape shape;         // of the first row
    bool array = false;  // false: a scalar
    BufferRef memory;
    size_t used = 0;   // bytes in use
    size_t usual = 0;  // bytes used by the previous block
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
