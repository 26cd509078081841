// Whether values of a type are leaves, determined once for each type.
#pragma once

#include "python/python.h"

namespace penstock {

// For a type that IsLeaf does not handle itself. Needs the GIL.
bool IsLeafOfType(PyObject* object);

// Whether the value is a leaf of an element: not a dict, tuple, record or None. Needs the GIL.
inline bool IsLeaf(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (type == &PyArray_Type || type == &PyFloat_Type || type == &PyLong_Type ||
      type == &PyUnicode_Type || type == &PyBytes_Type || type == &PyInt64ArrType_Type ||
      type == &PyFloat64ArrType_Type || type == &PyFloat32ArrType_Type ||
      type == &PyBoolArrType_Type) {
    return true;
  }
  if (object == Py_None || PyDict_Check(object) || type == &PyTuple_Type) return false;
  return IsLeafOfType(object);
}

}  // namespace penstock
