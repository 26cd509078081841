// Rows that are kept for long, and leave in a different order.
#pragma once

#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "data/block.h"

namespace penstock {

// Stores small rows of one form as plain bytes, and other rows unchanged, in memory cells that are
// reused. An Element would need several allocations per row. Reading it would follow pointers, each
// a cache miss in a buffer larger than the CPU's caches.
class RowStore {
 public:
  // A stored row.
  struct Row {
    Origin origin;
    StructureRef structure;  // null: followed by the row's bytes; otherwise by its leaves
  };
  using Cell = Row*;

  // Whether rows with these columns are stored as bytes: numbers and single strings of the same
  // dtypes and shapes as the very first row. Values in foreign memory stay there.
  bool Packs(const Structure* structure, const std::vector<Column>& columns);
  // Copies a row of such columns; returns null if it is large and should be stored unchanged.
  Cell Put(const std::vector<Column>& columns, int64_t row, Origin origin);
  // If this throws, the element is unchanged.
  Cell Put(Element&& element);
  // Takes the rows in this order; all must be bytes, or all have one structure. Bytes become
  // columns. The cells are freed. If memory runs out, nothing is taken.
  void Take(std::span<const Cell> cells, Block& out);
  void Drop(Cell cell);
  // Of all cells allocated so far, and of rows stored unchanged.
  size_t bytes() const { return slab_bytes_ - fresh_bytes_ + kept_bytes_; }
  // Whether the cells use much more memory than their rows. A cell only fits rows of one size, so
  // this happens if rows become longer and longer; then Move is worth its copies.
  bool wasteful() const { return slab_bytes_ > 2 * used_bytes_ + kMostWaste; }
  // Moves all rows to new memory and frees the old.
  void Move(std::span<Cell* const> all);

 private:
  struct Leaf {
    DType dtype;
    Shape shape;
    size_t bytes;  // per row, before its strings: the size of the numbers, or of a string's length
  };
  static constexpr int kClasses = 32 + 6 * 32;
  static constexpr size_t kMostWaste = 8 << 20;
  using Leaves = std::vector<Tensor>;

  // Values: an element's leaves, or columns.
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
  size_t fixed_ = 0;                    // bytes per row before the strings
  bool strings_ = false;                // whether rows have strings
  bool closed_ = false;                 // rows of different forms have arrived
  std::array<void*, kClasses> free_{};  // a free cell begins with a pointer to the next one
  std::vector<BufferRef> slabs_;
  size_t slab_bytes_ = 0;
  size_t used_bytes_ = 0;     // of occupied cells
  size_t kept_bytes_ = 0;     // of the leaves of rows stored unchanged
  uint8_t* fresh_ = nullptr;  // the unused rest of the last slab
  size_t fresh_bytes_ = 0;
};

}  // namespace penstock
