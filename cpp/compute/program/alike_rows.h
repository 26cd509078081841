// Rows that came one by one, or what is made of each, as columns.
#pragma once

#include <vector>

#include "compute/op.h"
#include "data/element.h"

namespace penstock {

// The columns of rows that are small and alike, which costs less to make than what is then done for
// all rows at once would cost for each. Empty when they differ in structure, dtype or shape, or are
// large.
std::vector<Column> ColumnsOf(const std::vector<Element>& rows);
// What `op`, which reads shapes only, gives for leaf `leaf` of each row, whose own shapes may
// differ; empty when what it gives differs in dtype or shape.
Tensor ReadShapes(const FillOp& op, const std::vector<Element>& rows, size_t leaf);

}  // namespace penstock
