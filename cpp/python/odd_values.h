// Values that look like arrays or rows of arrays to NumPy, which would lose some of their data or
// never return.
#pragma once

#include "python/python.h"

namespace penstock {

// Whether an object has a length and gives items beyond it, as many datasets do: NumPy would
// iterate it for ever.
bool IsEndless(PyObject* object);
bool IsDataset(PyObject* object);

// False, with an error set, for an array of a subclass that hides items by a mask.
bool CheckMask(PyObject* array);

// False, with an error set, when nested lists and tuples hold an endless object or a masked array.
// Only items of lists and tuples are looked at.
bool CheckItems(PyObject* list);

}  // namespace penstock
