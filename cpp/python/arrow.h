// Tables of Arrow, pandas, polars and others, by Arrow's C data interface.
#pragma once

#include <string>

#include "data/table.h"
#include "python/python.h"

namespace penstock {

// The rows of what has __arrow_c_stream__ or __arrow_c_array__, in the memory where they lie,
// wherever the engine lays them out in the same way; lists become ragged columns. With the GIL.
// Throws for a type for which there is no column, and for missing values for which there is no
// value; `stage` is for these errors.
Table TableOfArrow(PyObject* object, const std::string& stage);

}  // namespace penstock
