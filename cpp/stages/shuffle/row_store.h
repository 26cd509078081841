// Rows that are kept for long, and leave in another order than they came.
#pragma once

#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "data/block.h"

namespace penstock {

// Keeps small rows of one form as plain bytes, other rows as they are, in cells of memory that are
// used again. An Element would take some allocations for every row; and reading it when it leaves
// would follow pointers, each of which waits for memory in a buffer larger than the CPU's caches.
class RowStore {
 public:
  // A row that is kept.
  struct Row {
    Origin origin;
    StructureRef structure;  // null: the row is bytes, which follow; else its leaves do
  };
  using Cell = Row*;

  // Whether rows of these columns become bytes: numbers and lone strings of the dtypes and shapes
  // of the first row of all. What lies in foreign memory stays there.
  bool Packs(const Structure* structure, const std::vector<Column>& columns);
  // Copies a row of such columns; null when it is large, and better kept as it is.
  Cell Put(const std::vector<Column>& columns, int64_t row, Origin origin);
  // The element stays as it is when this throws.
  Cell Put(Element&& element);
  // Takes the rows in this order; all are bytes, or all are of one structure. Bytes become columns.
  // The cells are free again. When memory runs out nothing is taken.
  void Take(std::span<const Cell> cells, Block& out);
  void Drop(Cell cell);
  // Of the cells that there were so far, and of rows that are kept as they are.
  size_t bytes() const { return slab_bytes_ - fresh_bytes_ + kept_bytes_; }
  // Whether the cells take much more memory than the rows in them. A cell serves rows of one size
  // only, so this happens when rows become longer and longer; Move is then worth its copies.
  bool wasteful() const { return slab_bytes_ > 2 * used_bytes_ + kMostWaste; }
  // Moves all the rows that there are to new memory and gives the old one back.
  void Move(std::span<Cell* const> all);

 private:
  struct Leaf {
    DType dtype;
    Shape shape;
    size_t bytes;  // before the strings of a row: those of numbers, or of a string's length
  };
  static constexpr int kClasses = 32 + 6 * 32;
  static constexpr size_t kMostWaste = 8 << 20;
  using Leaves = std::vector<Tensor>;

  // Of an element's leaves, or of columns.
  template <typename Values>
  bool PacksAs(const Structure* structure, const Values& values);
  template <typename Values>
  void Learn(const Structure* structure, const Values& values);
  template <typename Values>
  Cell PutRow(const Values& values, int64_t row, Origin origin);
  size_t BytesOf(Cell cell) const;
  void TakePacked(std::span<const Cell> cells, Block& out);
  void* Allocate(size_t bytes);
  void Free(void* cell, size_t bytes);

  static uint8_t* BytesIn(Cell cell) { return reinterpret_cast<uint8_t*>(cell + 1); }
  static Leaves& LeavesIn(Cell cell) { return *reinterpret_cast<Leaves*>(cell + 1); }

  StructureRef structure_;
  std::vector<Leaf> form_;
  size_t fixed_ = 0;                    // bytes before the strings
  bool strings_ = false;                // whether there are any
  bool closed_ = false;                 // rows of different forms come
  std::array<void*, kClasses> free_{};  // each free cell begins with a pointer to the next one
  std::vector<BufferRef> slabs_;
  size_t slab_bytes_ = 0;
  size_t used_bytes_ = 0;     // of cells with rows
  size_t kept_bytes_ = 0;     // of the leaves of rows that are no bytes
  uint8_t* fresh_ = nullptr;  // what is left of the last slab
  size_t fresh_bytes_ = 0;
};

}  // namespace penstock
