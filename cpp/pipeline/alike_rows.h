// Rows that came one by one, as columns.
#pragma once

#include <vector>

#include "element/element.h"

namespace penstock {

// The columns of rows that are small and alike, which costs less to make than what is then done for
// all rows at once would cost for each. Empty when they differ in structure, dtype or shape, or are
// large.
std::vector<Tensor> ColumnsOf(const std::vector<Element>& rows);

}  // namespace penstock
