// Matches Python values against dtypes exactly.
#include "python/array_items.h"

#include <cstring>

#include "python/types.h"

namespace penstock {

bool DTypeOfScalar(PyObject* object, DType* dtype) {
  PyTypeObject* type = Py_TYPE(object);
  if (type == &PyFloat_Type) {
    *dtype = DTypeOf<double>();
  } else if (type == &PyLong_Type) {
    *dtype = DTypeOf<int64_t>();
  } else if (type == &PyBool_Type) {
    *dtype = DTypeOf<bool>();
  } else {
    int code = ScalarTypeCode(type);
    if (code < 0) return false;
    *dtype = DType::Of(static_cast<TypeCode>(code));
  }
  return !dtype->is_reference();
}

bool WriteScalar(DType dtype, PyObject* object, uint8_t* to) {
  PyTypeObject* type = Py_TYPE(object);
  if (type == &PyFloat_Type) {
    if (dtype.code != TypeCode::kFloat64) return false;
    double value = PyFloat_AS_DOUBLE(object);
    std::memcpy(to, &value, sizeof(value));
    return true;
  }
  if (type == &PyLong_Type) {
    if (dtype.code != TypeCode::kInt64) return false;
    int overflow;
    int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
    std::memcpy(to, &value, sizeof(value));
    return !overflow;
  }
  if (type == &PyBool_Type) {
    if (dtype.code != TypeCode::kBool) return false;
    *to = object == Py_True;
    return true;
  }
  if (type != ScalarType(dtype.code)) {
    int code = ScalarTypeCode(type);
    if (code < 0 || static_cast<TypeCode>(code) != dtype.code) return false;
  }
  std::memcpy(to, ScalarValue(object, dtype.code), dtype.itemsize);
  return true;
}

bool IsPlainArray(PyObject* object, DType* dtype) {
  if (Py_TYPE(object) != &PyArray_Type) return false;
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  if (!PyArray_ISCARRAY_RO(array)) return false;
  PyArray_Descr* descr = PyArray_DESCR(array);
  if (descr->type_num >= NPY_OBJECT || !PyArray_ISNOTSWAPPED(array)) return false;
  return DTypeOfDescr(descr, dtype);
}

bool MatchesArray(PyObject* object, DType dtype, const Shape& shape) {
  if (Py_TYPE(object) != &PyArray_Type) return false;
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  if (PyArray_NDIM(array) != shape.rank()) return false;
  for (int i = 0; i < shape.rank(); ++i) {
    if (PyArray_DIM(array, i) != shape[i]) return false;
  }
  DType found;
  return IsPlainArray(object, &found) && found == dtype;
}

}  // namespace penstock
