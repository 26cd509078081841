// NumPy's ufuncs as operations: their loops need no GIL.
#pragma once

#include <memory>
#include <vector>

#include "compute/elementwise.h"
#include "python/python.h"

namespace penstock {

// With the GIL. Made once for each ufunc; throws a TypeError for one that is not of numbers or has
// more than two outputs.
std::shared_ptr<const LoopTable> LoopsOfUfunc(PyObject* ufunc);

}  // namespace penstock
