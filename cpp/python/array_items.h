// Python values that can be copied into tensors bytewise.
#pragma once

#include "data/tensor.h"
#include "python/python.h"

namespace penstock {

// Finds the dtype of a scalar as an element. False for strings and for anything that is not a
// scalar.
bool DTypeOfScalar(PyObject* object, DType* dtype);
// Writes `object` as a scalar of `dtype`. False unless its type matches exactly.
bool WriteScalar(DType dtype, PyObject* object, uint8_t* to);
// Whether `object` is a contiguous numeric array in native byte order; if so, sets its dtype.
bool IsPlainArray(PyObject* object, DType* dtype);
// Whether it is such an array with this dtype and shape.
bool MatchesArray(PyObject* object, DType dtype, const Shape& shape);

}  // namespace penstock
