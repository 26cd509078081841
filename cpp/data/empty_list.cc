// Rows without items, in the form of other rows.
#include "data/empty_list.h"

#include <algorithm>

namespace penstock {

bool AreEmptyLists(const Column& rows) {
  return rows.dtype().code == TypeCode::kFloat64 && rows.rank() == 1 && rows.items.elements() == 0;
}

Column EmptyRows(int64_t rows, const LeafSpec& form) {
  Shape shape = form.shape;
  shape[0] = 0;
  for (int d = 1; d < shape.rank(); ++d) shape[d] = std::max<int64_t>(shape[d], 0);
  shape = shape.Prepend(rows);
  if (form.dtype.is_reference() && form.dtype.code != TypeCode::kObject) {
    return Tensor::Strings(form.dtype.code, shape, {});
  }
  return Tensor::Concat(form.dtype, shape, {});
}

}  // namespace penstock
