// Whether values of a type are leaves, found out once for each type.
#pragma once

#include "python/python.h"

namespace penstock {

// Whether such a value is a leaf of an element: no dict, tuple, record or None. With the GIL.
bool IsLeaf(PyObject* object);

}  // namespace penstock
