// Copies arrays back to back.
#include "python/ragged_rows.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "python/array_items.h"
#include "python/types.h"

namespace penstock {
namespace {

constexpr size_t kFirstRoom = 16 << 10;
constexpr size_t kLargeRow = 64 << 10;  // bytes; moving such rows when memory grows is too slow

Shape ShapeOf(PyObject* array) {
  auto* self = reinterpret_cast<PyArrayObject*>(array);
  return {reinterpret_cast<const int64_t*>(PyArray_DIMS(self)),
          static_cast<size_t>(PyArray_NDIM(self))};
}

}  // namespace

bool RaggedRows::HasOneShape(const Gathered& column) {
  for (size_t row = 1; row < column.ends.size(); ++row) {
    if (column.ends[row] - column.ends[row - 1] != column.shape[0]) return false;
  }
  return true;
}

bool RaggedRows::Fits(const Gathered& column, PyObject* leaf, const LeafSpec* declared) {
  DType dtype;
  if (!IsPlainArray(leaf, &dtype) || dtype != column.dtype) return false;
  auto* array = reinterpret_cast<PyArrayObject*>(leaf);
  if (PyArray_NDIM(array) != column.shape.rank()) return false;
  if (static_cast<size_t>(PyArray_NBYTES(array)) > kLargeRow) return false;
  for (int d = 1; d < column.shape.rank(); ++d) {
    if (PyArray_DIM(array, d) != column.shape[d]) return false;
  }
  return !declared || declared->Accepts(ShapeOf(leaf));
}

bool RaggedRows::Begin(const Flattened& flat, const ElementSpec* declared, const Origin& origin) {
  columns_.resize(flat.leaves.size());
  bool any = false;
  for (size_t i = 0; i < columns_.size(); ++i) {
    Gathered& column = columns_[i];
    PyObject* leaf = flat.leaves[i];
    column.used = 0;
    column.ends.assign(1, 0);
    column.array = Py_TYPE(leaf) == &PyArray_Type;
    if (column.array) {
      bool plain = IsPlainArray(leaf, &column.dtype);
      auto* array = reinterpret_cast<PyArrayObject*>(leaf);
      if (!plain || PyArray_NDIM(array) == 0 || PyArray_NDIM(array) >= kMaxRank) return false;
      column.shape = ShapeOf(leaf);
      any = true;
    } else {
      if (!DTypeOfScalar(leaf, &column.dtype)) return false;
      column.shape = {};
    }
    if (column.dtype.is_reference()) return false;
    if (declared &&
        (declared->leaves[i].dtype != column.dtype || !declared->leaves[i].Accepts(column.shape))) {
      return false;
    }
  }
  block_ = Block();
  block_.structure = flat.structure;
  block_.origins.first = origin;
  return any;
}

uint8_t* RaggedRows::Room(Gathered& column, size_t bytes) {
  size_t needed = column.used + bytes;
  if (!column.memory || needed > column.memory->size()) {
    size_t more = column.memory ? 2 * column.memory->size() : std::max(column.usual, kFirstRoom);
    BufferRef larger = Buffer::Allocate(std::max(needed, more));
    if (column.used > 0) std::memcpy(larger->data(), column.memory->data(), column.used);
    column.memory = std::move(larger);
  }
  return column.memory->data() + column.used;
}

bool RaggedRows::Add(const Flattened& flat, const ElementSpec* declared, const Origin& origin) {
  if (rows() == 0) {
    if (!Begin(flat, declared, origin)) return false;
  } else if (flat.structure != block_.structure ||
             origin.key != block_.origins.first.key + static_cast<uint64_t>(rows())) {
    return false;
  }
  // The row counts only when all columns have stored their leaf: memory may run out in between.
  for (size_t i = 0; i < columns_.size(); ++i) {
    Gathered& column = columns_[i];
    PyObject* leaf = flat.leaves[i];
    if (!column.array) {
      if (!WriteScalar(column.dtype, leaf, Room(column, column.dtype.itemsize))) return false;
      continue;
    }
    if (!Fits(column, leaf, declared ? &declared->leaves[i] : nullptr)) return false;
    auto* array = reinterpret_cast<PyArrayObject*>(leaf);
    auto bytes = static_cast<size_t>(PyArray_NBYTES(array));
    uint8_t* to = Room(column, bytes);
    if (bytes > 0) std::memcpy(to, PyArray_DATA(array), bytes);
    column.ends.reserve(static_cast<size_t>(block_.rows) + 2);
  }
  for (size_t i = 0; i < columns_.size(); ++i) {
    Gathered& column = columns_[i];
    if (!column.array) {
      column.used += column.dtype.itemsize;
      continue;
    }
    auto* array = reinterpret_cast<PyArrayObject*>(flat.leaves[i]);
    column.used += static_cast<size_t>(PyArray_NBYTES(array));
    column.ends.push_back(column.ends.back() + PyArray_DIM(array, 0));
  }
  ++block_.rows;
  return true;
}

Block RaggedRows::Take() {
  likely_ = false;
  for (Gathered& column : columns_) {
    Shape shape = column.shape;
    const bool ragged = column.array && !HasOneShape(column);
    if (ragged) {
      shape[0] = column.ends.back();
    } else {
      shape = shape.Prepend(block_.rows);
    }
    Room(column, 0);  // an empty column needs memory too
    column.usual = column.used;
    Tensor items = Tensor::View(column.dtype, shape, std::move(column.memory), 0);
    block_.columns.push_back(ragged ? Column(std::move(items), std::move(column.ends))
                                    : Column(std::move(items)));
    likely_ = likely_ || ragged;
  }
  return std::exchange(block_, Block());
}

}  // namespace penstock
