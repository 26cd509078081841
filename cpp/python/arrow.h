// Tables of Arrow, pandas, Polars and others, imported through Arrow's C data interface.
#pragma once

#include <string>

#include "data/table.h"
#include "python/python.h"

namespace penstock {

// The rows of an object with __arrow_c_stream__ or __arrow_c_array__. Shares its memory wherever
// the layouts agree; lists become ragged columns. Needs the GIL. Throws for types without a column
// type, and for missing values in types that cannot represent them; these errors name `stage`.
Table TableOfArrow(PyObject* object, const std::string& stage);

}  // namespace penstock
