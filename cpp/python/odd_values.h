// Values that look like arrays or rows of arrays to NumPy, which would lose some of their data or
// never return.
#pragma once

#include "python/python.h"

namespace penstock {

// An object with a length and [i] beyond it, as many datasets are: NumPy would iterate it for ever.
bool IsEndless(PyObject* object);

// False, with an error set, for an array of a subclass that hides items by a mask.
bool CheckMask(PyObject* array);

// False, with an error set, where there is one of both in nested lists and tuples. Anything else
// than a list or tuple has no items here.
bool CheckItems(PyObject* list);

}  // namespace penstock
