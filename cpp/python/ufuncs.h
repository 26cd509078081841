// NumPy's ufuncs as operations: their loops need no GIL.
#pragma once

#include <memory>
#include <vector>

#include "compute/elementwise.h"
#include "python/python.h"

namespace penstock {

// Needs the GIL. Cached for each ufunc. Throws a TypeError for a ufunc without numeric loops or
// with more than two outputs.
std::shared_ptr<const LoopTable> LoopsOfUfunc(PyObject* ufunc);

}  // namespace penstock
