// Items of Python values that can be copied byte by byte.
#pragma once

#include "data/tensor.h"
#include "python/python.h"

namespace penstock {

// The dtype that a scalar has as an element; false for anything else, and for strings.
bool DTypeOfScalar(PyObject* object, DType* dtype);
// Writes `object` as a scalar of `dtype`; false when it is not exactly one.
bool WriteScalar(DType dtype, PyObject* object, uint8_t* to);
// Whether this is a contiguous array of numbers in native byte order; then also its dtype.
bool IsPlainArray(PyObject* object, DType* dtype);
// Whether it is such an array with this dtype and shape.
bool MatchesArray(PyObject* object, DType dtype, const Shape& shape);

}  // namespace penstock
