// Converts values to declared types, and shows those that cannot be converted.
#include "python/declared.h"

#include "python/array_items.h"
#include "python/gil.h"
#include "python/odd_values.h"

namespace penstock {
namespace {

bool ToReferences(const char* stage, PyObject* value, const LeafSpec& spec, Tensor* tensor) {
  PyRef converted;
  if (spec.dtype.code == TypeCode::kBytes && PyUnicode_Check(value)) {
    converted = PyRef::Steal(PyUnicode_AsUTF8String(value));
  } else if (spec.dtype.code == TypeCode::kText && PyBytes_Check(value)) {
    converted = PyRef::Steal(PyUnicode_FromEncodedObject(value, "utf-8", "strict"));
  } else if (PyTuple_CheckExact(value)) {
    converted = PyRef::Steal(PySequence_List(value));
  } else {
    converted = PyRef::Borrow(value);
  }
  // A single object is declared, so the list itself is that object, not an array.
  const bool one = spec.dtype.code == TypeCode::kObject && !spec.any_rank && spec.shape.rank() == 0;
  if (one && converted && PyList_Check(converted.get())) {
    *tensor = AdoptObject(TypeCode::kObject, std::move(converted));
    return true;
  }
  if (!converted || !ToTensor(converted.get(), Sharing::kCopy, tensor)) return false;
  if (tensor->dtype().code != spec.dtype.code && spec.dtype.code != TypeCode::kObject &&
      tensor->elements() > 0) {
    PyErr_Format(PyExc_TypeError, "%s: a %s element was expected, got %R", stage,
                 spec.dtype.name().c_str(), value);
    return false;
  }
  return true;
}

bool ToNumbers(const char* stage, PyObject* value, const LeafSpec& spec, Sharing sharing,
               Tensor* tensor) {
  DType dtype;
  if (IsPlainArray(value, &dtype) && dtype == spec.dtype) return ToTensor(value, sharing, tensor);
  if (!CheckItems(value)) return false;
  PyArray_Descr* descr = DescrOf(spec.dtype);
  if (!descr) return false;
  PyRef array = PyRef::Steal(
      PyArray_FromAny(value, descr, 0, 0, NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST, nullptr));
  if (!array) {
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "%s: an element of dtype %s was expected, got %R", stage,
                 spec.dtype.name().c_str(), value);
    return false;
  }
  return ToTensor(array.get(), sharing, tensor);
}

}  // namespace

bool ToDeclared(const char* stage, PyObject* value, const LeafSpec& spec, Sharing sharing,
                Tensor* tensor) {
  const bool made = spec.dtype.is_reference() ? ToReferences(stage, value, spec, tensor)
                                              : ToNumbers(stage, value, spec, sharing, tensor);
  if (!made) return false;
  if (!spec.Accepts(tensor->shape())) {
    PyErr_Format(PyExc_TypeError, "%s: an element of shape %s was expected, got shape %s: %R",
                 stage, spec.shape.ToString().c_str(), tensor->shape().ToString().c_str(), value);
    return false;
  }
  return true;
}

}  // namespace penstock
