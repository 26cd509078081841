// A Function that calls Python.
#pragma once

#include "pipeline/function.h"
#include "pipeline/spec.h"
#include "python/python.h"

namespace penstock {

// `callable` is kept; `declared` (may be null) is what its results are converted to.
FunctionPtr MakePyFunction(PyRef callable, std::shared_ptr<const ElementSpec> declared);

}  // namespace penstock
