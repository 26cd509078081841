// Writes Python values into columns.
#include "python/rows.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "python/array_items.h"
#include "python/declared.h"
#include "python/errors.h"
#include "python/gil.h"
#include "python/known_types.h"
#include "python/types.h"

namespace penstock {
namespace {

// Memory for `rows` rows in one piece; none if there is too little, although single rows may still
// fit.
Tensor ColumnOf(DType dtype, const Shape& row, int64_t rows) {
  try {
    return Tensor::Make(dtype, row.Prepend(rows));
  } catch (const std::bad_alloc&) {
    return {};
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

RowCollector::RowCollector(const RowPolicy& policy, int64_t max_rows, Slabs* slabs,
                           int64_t first_row, LastStructure* last_structure)
    : policy_(policy),
      max_rows_(max_rows),
      last_structure_(*last_structure),
      builder_(max_rows, slabs, first_row) {
  if (policy_.ragged) policy_.ragged->Clear();
}

RowCollector::~RowCollector() {
  for (Column& column : columns_) DeferredDecrefAll(column.objects, column.room);
}

bool RowCollector::Add(PyObject* value, const Origin& origin) {
  try {
    return AddRow(value, origin);
  } catch (const std::bad_alloc&) {  // affects this row only: the others are not lost
    if (closing_) throw;             // except those of a block that could not be made
    PyErr_NoMemory();
  } catch (const Error& error) {
    RaisePython(error);
  }
  return false;
}

bool RowCollector::AddRow(PyObject* value, const Origin& origin) {
  if (policy_.opaque) {
    Element element;
    element.leaves.push_back(AdoptObject(TypeCode::kObject, PyRef::Borrow(value)));
    element.origin = origin;
    // A separate block for each row: a single object (such as a batch for a loader) may be large.
    builder_.Add(Block::Of(std::move(element)));
    ++rows_;
    return true;
  }
  PyRef as_tuple;
  if (policy_.list_as_tuple && PyList_CheckExact(value)) {
    as_tuple = PyRef::Steal(PyList_AsTuple(value));
    if (!as_tuple) return false;
    value = as_tuple.get();
  }
  flat_.leaves.clear();
  flat_.kept.clear();
  flat_.exclusive = true;
  if (policy_.declared) {
    if (!FlattenLike(policy_.declared->structure, value, &flat_)) {
      PyErr_Format(PyExc_TypeError, "%s: an element of structure %s was expected, got %R",
                   policy_.stage, policy_.declared->structure->ToString().c_str(), value);
      return false;
    }
  } else {
    bool like = last_structure_.get() && FlattenLike(last_structure_.get(), value, &flat_) &&
                std::all_of(flat_.leaves.begin(), flat_.leaves.end(), IsLeaf);
    if (!like) {
      flat_ = Flattened();
      if (!Flatten(value, &flat_)) return false;
      last_structure_.set(flat_.structure);
    }
  }
  if (policy_.ragged && (ragged_ || policy_.ragged->likely() || policy_.ragged->rows() > 0)) {
    if (AddRagged(origin)) return true;
  }
  bool fits = false;
  if (max_rows_ > 1 && !ragged_) {
    if (open_ && block_.structure != flat_.structure) CloseColumns();
    if (open_ || StartColumns(flat_)) {
      if (!AddToColumns(flat_, &fits)) return false;
      if (!fits && open_rows_ > 0) {
        ragged_ = open_rows_ == 1;
        CloseColumns();
        if (!ragged_ && StartColumns(flat_) && !AddToColumns(flat_, &fits)) return false;
      }
    } else if (PyErr_Occurred()) {
      return false;
    }
  }
  if (fits) {
    block_.origins.Add(open_rows_, origin);
    ++open_rows_;  // only now is the row complete
  } else {
    CloseColumns();
    if (!AddSingle(flat_, origin)) return false;
  }
  ++rows_;
  return true;
}

bool RowCollector::AddRagged(const Origin& origin) {
  if (max_rows_ == 1) return false;
  if (open_) CloseColumns();
  bool added = policy_.ragged->Add(flat_, policy_.declared, origin);
  if (!added && policy_.ragged->rows() > 0) {
    CloseColumns();
    added = policy_.ragged->Add(flat_, policy_.declared, origin);
  }
  rows_ += added;
  return added;
}

bool RowCollector::AddScalar(PyObject* value, const Block& source, int64_t row) {
  if (!lone_scalar_ || open_rows_ == 0) return false;
  Column& column = columns_[0];
  uint8_t* to =
      column.dense.mutable_data() + static_cast<size_t>(open_rows_) * column.dtype.itemsize;
  if (Py_TYPE(value) == column.scalar_type) {
    const void* from = reinterpret_cast<const uint8_t*>(value) + column.scalar_offset;
    if (column.dtype.itemsize == 8)
      std::memcpy(to, from, 8);
    else
      std::memcpy(to, from, column.dtype.itemsize);
  } else if (!WriteScalar(column.dtype, value, to)) {
    return false;
  }
  if (row - open_rows_ != follows_from_) AddOrigin(source, row);
  ++open_rows_;
  ++rows_;
  return true;
}

void RowCollector::AddOrigin(const Block& source, int64_t row) {
  RowOrigins& origins = block_.origins;
  if (!source.elements.empty()) {
    origins.Add(open_rows_, source.elements[static_cast<size_t>(row)].origin);
    return;
  }
  origins.Add(open_rows_, source.origins, row);
  // If this row follows the previous ones in both, all later rows do, until one is skipped.
  if (source.origins.consecutive() && origins.consecutive()) follows_from_ = row - open_rows_;
}

bool RowCollector::LeafToTensor(PyObject* leaf, size_t i, bool exclusive, Tensor* tensor) {
  const Sharing sharing = policy_.copy || !exclusive ? Sharing::kCopy : Sharing::kIfUnique;
  if (policy_.declared) {
    return ToDeclared(policy_.stage, leaf, policy_.declared->leaves[i], sharing, tensor);
  }
  return ToTensor(leaf, sharing, tensor);
}

bool RowCollector::AddSingle(const Flattened& flat, const Origin& origin) {
  Element element;
  element.leaves.resize(flat.leaves.size());
  for (size_t i = 0; i < flat.leaves.size(); ++i) {
    if (!LeafToTensor(flat.leaves[i], i, flat.exclusive, &element.leaves[i])) return false;
  }
  element.structure = flat.structure;
  element.origin = origin;
  builder_.AddAlone(std::move(element));
  return true;
}

bool RowCollector::StartColumns(const Flattened& flat) {
  columns_.clear();
  int64_t room = max_rows_ - rows_;
  if (room < 2) return false;
  for (size_t i = 0; i < flat.leaves.size(); ++i) {
    Tensor first;
    if (!LeafToTensor(flat.leaves[i], i, false, &first)) return false;
    Column& column = columns_.emplace_back(Column{first.dtype(),
                                                  first.shape(),
                                                  {},
                                                  nullptr,
                                                  0,
                                                  ScalarType(first.dtype().code),
                                                  ScalarOffset(first.dtype().code)});
    if (first.dtype().is_reference()) {
      if (first.shape().rank() > 0 || first.storage() != Storage::kObjects) {
        CloseColumns();
        return false;  // stacking code handles arrays of references, and names as bytes
      }
      column.room = static_cast<size_t>(room);
      column.objects = NewReferences(column.room);
    } else {
      column.dense = ColumnOf(first.dtype(), first.shape(), room);
      if (!column.dense.buffer()) {
        CloseColumns();
        return false;
      }
    }
  }
  block_ = Block();
  block_.structure = flat.structure;
  open_ = true;
  open_rows_ = 0;
  follows_from_ = kNone;
  lone_scalar_ = columns_.size() == 1 && flat.structure == Structure::Leaf() && !policy_.declared &&
                 !columns_[0].objects && columns_[0].shape.rank() == 0;
  return true;
}

bool RowCollector::AddToColumns(const Flattened& flat, bool* fits) {
  *fits = false;
  for (size_t i = 0; i < columns_.size(); ++i) {
    Column& column = columns_[i];
    PyObject* leaf = flat.leaves[i];
    if (column.objects) {
      PyObject*& slot = column.objects[open_rows_];
      bool plain = !policy_.declared &&
                   ((column.dtype.code == TypeCode::kBytes && PyBytes_CheckExact(leaf)) ||
                    (column.dtype.code == TypeCode::kText && PyUnicode_CheckExact(leaf) &&
                     PyUnicode_IS_COMPACT_ASCII(leaf)));
      if (plain) {
        Py_XSETREF(slot, Py_NewRef(leaf));
        continue;
      }
      Tensor value;
      if (!LeafToTensor(leaf, i, false, &value)) return false;
      if (value.dtype() != column.dtype || value.shape().rank() != 0) return true;
      if (value.storage() != Storage::kObjects) return true;
      Py_XSETREF(slot, Py_NewRef(static_cast<PyObject*>(value.objects()[0])));
      continue;
    }
    size_t row_bytes = static_cast<size_t>(column.shape.elements()) * column.dtype.itemsize;
    uint8_t* to = column.dense.mutable_data() + static_cast<size_t>(open_rows_) * row_bytes;
    bool scalar = column.shape.rank() == 0;
    if (!policy_.declared) {
      if (scalar && WriteScalar(column.dtype, leaf, to)) continue;
      if (!scalar && MatchesArray(leaf, column.dtype, column.shape)) {
        std::memcpy(to, PyArray_DATA(reinterpret_cast<PyArrayObject*>(leaf)), row_bytes);
        continue;
      }
    } else if (!scalar && MatchesArray(leaf, column.dtype, column.shape)) {
      std::memcpy(to, PyArray_DATA(reinterpret_cast<PyArrayObject*>(leaf)), row_bytes);
      continue;
    }
    Tensor value;
    if (!LeafToTensor(leaf, i, true, &value)) return false;
    if (value.dtype() != column.dtype || !(value.shape() == column.shape)) return true;
    std::memcpy(to, value.data(), row_bytes);
  }
  *fits = true;
  return true;
}

void RowCollector::CloseColumns() {
  closing_ = true;
  if (policy_.ragged && policy_.ragged->rows() > 0) builder_.Add(policy_.ragged->Take());
  if (!open_ && columns_.empty()) {
    closing_ = false;
    return;
  }
  bool filled = open_ && open_rows_ > 0;
  for (Column& column : columns_) {
    if (column.objects) {
      auto count = static_cast<size_t>(filled ? open_rows_ : 0);
      // A row that did not fit may have left a reference after the filled ones.
      for (size_t i = count; i < column.room; ++i) Py_CLEAR(column.objects[i]);
      Tensor objects = AdoptObjects(column.dtype.code, {static_cast<int64_t>(count)},
                                    std::exchange(column.objects, nullptr), count);
      if (filled) block_.columns.push_back(std::move(objects));
    } else if (filled) {
      // Memory was allocated for the maximum number of rows.
      constexpr int64_t kMostKept = 8;
      int64_t room = column.dense.shape()[0];
      if (room > open_rows_) column.dense = column.dense.Rows(0, open_rows_);
      if (room > kMostKept * open_rows_) column.dense = column.dense.Alone();
      block_.columns.push_back(std::move(column.dense));
    }
  }
  columns_.clear();
  if (filled) {
    block_.rows = open_rows_;
    builder_.Add(std::move(block_));
  }
  block_ = Block();
  open_ = false;
  open_rows_ = 0;
  follows_from_ = kNone;
  lone_scalar_ = false;
  closing_ = false;
}

void RowCollector::AddError(Error error) {
  CloseColumns();
  ++rows_;
  builder_.AddError(std::move(error));
}

void RowCollector::Finish(std::vector<Block>& out) {
  CloseColumns();
  builder_.Finish(out);
}

}  // namespace penstock
