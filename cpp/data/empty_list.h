// Empty Python lists among arrays.
#pragma once

#include "data/column.h"
#include "data/spec.h"

namespace penstock {

// `[]` has no dtype: NumPy converts it to float64 of shape (0,). Wherever arrays are collected, an
// array of this form adopts the dtype, and all axes but the first, of the other arrays of its leaf.
inline bool IsEmptyList(DType dtype, const Shape& shape) {
  return dtype.code == TypeCode::kFloat64 && shape.rank() == 1 && shape[0] == 0;
}
inline bool IsEmptyList(const LeafSpec& leaf) { return IsEmptyList(leaf.dtype, leaf.shape); }
inline bool IsEmptyList(const Tensor& row) { return IsEmptyList(row.dtype(), row.shape()); }
// Whether all rows of a column are empty lists.
bool AreEmptyLists(const Column& rows);

// Whether empty lists can adopt the form of this leaf.
inline bool CanAdopt(const LeafSpec& form) { return !IsEmptyList(form) && form.shape.rank() > 0; }
// `rows` rows without items, in a form that can be adopted.
Column EmptyRows(int64_t rows, const LeafSpec& form);

}  // namespace penstock
