// A Function from positions to the rows of a Python object.
#pragma once

#include "compute/function.h"
#include "data/spec.h"
#include "python/python.h"

namespace penstock {

// Fetches rows with `object[i]`, or several in one call with `object.__getitems__`. Keeps the
// object, whose length must remain `size`. `declared` (may be null): the types to convert rows to.
FunctionPtr MakeIndexableFunction(PyRef object, int64_t size,
                                  std::shared_ptr<const ElementSpec> declared);

}  // namespace penstock
