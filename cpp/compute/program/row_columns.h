// Columns of rows that came one by one, or of what is made of each row.
#pragma once

#include <vector>

#include "compute/op.h"
#include "data/element.h"

namespace penstock {

// The columns of rows that are small and equal in structure, dtypes and shapes; empty for others.
// Making them costs less than what is saved when all rows are then computed at once.
std::vector<Column> ColumnsOf(const std::vector<Element>& rows);
// What `op`, which reads shapes only, makes of leaf `leaf` of each row, for rows whose shapes may
// differ; empty when its results differ in dtype or shape.
Tensor ReadShapes(const FillOp& op, const std::vector<Element>& rows, size_t leaf);

}  // namespace penstock
