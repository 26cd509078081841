// Values that NumPy would take for arrays or rows of arrays, although it would lose some of their
// data or never return.
#pragma once

#include "python/python.h"

namespace penstock {

// Whether an object has a length and yet returns items beyond it, as many datasets do: NumPy would
// iterate over it forever.
bool IsEndless(PyObject* object);
bool IsDataset(PyObject* object);

// False, with an error set, for an array whose subclass masks items.
bool CheckMask(PyObject* array);

// False, with an error set, if nested lists and tuples hold an endless object or a masked array.
// Looks only at items of lists and tuples.
bool CheckItems(PyObject* list);

}  // namespace penstock
