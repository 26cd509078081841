// Builds columns from separate rows, or from a result for each row.
#pragma once

#include <vector>

#include "compute/op.h"
#include "data/element.h"

namespace penstock {

// The columns of rows that are small and equal in structure, dtypes and shapes; empty for others.
// They cost less to build than is saved by computing all rows in one call.
std::vector<Column> ColumnsOf(const std::vector<Element>& rows);
// The results of `op`, which reads only shapes, for leaf `leaf` of each row; the shapes of rows may
// differ. Empty if the results differ in dtype or shape.
Tensor ReadShapes(const FillOp& op, const std::vector<Element>& rows, size_t leaf);

}  // namespace penstock
