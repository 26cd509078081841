// A Function from positions to the rows of a Python object.
#pragma once

#include "compute/function.h"
#include "data/spec.h"
#include "python/python.h"

namespace penstock {

// Rows come from `object[i]`, or several at once from `object.__getitems__`. The object is kept; it
// must have `size` rows whenever it is asked. `declared` (may be null): what rows are converted to.
FunctionPtr MakeIndexableFunction(PyRef object, int64_t size,
                                  std::shared_ptr<const ElementSpec> declared);

}  // namespace penstock
