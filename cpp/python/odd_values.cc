// Detects masks, and rows that never end.
#include "python/odd_values.h"

#include "python/free_threads.h"
#include "python/types.h"

namespace penstock {
namespace {

constexpr int kDeepest = 64;  // the maximum number of axes in NumPy

// Whether an array of a subclass masks any items; -1 with an error set.
int IsMasked(PyObject* array) {
  if (!PyObject_HasAttrString(array, "mask") || !PyObject_HasAttrString(array, "filled")) return 0;
  PyRef mask = PyRef::Steal(PyObject_GetAttrString(array, "mask"));
  PyRef any = mask ? PyRef::Steal(PyObject_CallMethod(mask.get(), "any", nullptr)) : PyRef();
  return any ? PyObject_IsTrue(any.get()) : -1;
}

bool IsHarmless(PyTypeObject* type) {
  return type == &PyFloat_Type || type == &PyLong_Type || type == &PyBool_Type ||
         type == &PyUnicode_Type || type == &PyBytes_Type || type == &PyArray_Type ||
         type == &PyComplex_Type || type == Py_TYPE(Py_None) || ScalarTypeCode(type) >= 0;
}

bool CheckItem(PyObject* item, int depth);

bool CheckItemsAt(PyObject* list, int depth) {
  if (!(PyList_Check(list) || PyTuple_Check(list)) || depth > kDeepest) return true;
  const ObjectLock lock(list);
  PyTypeObject* harmless = nullptr;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list); ++i) {  // it may change meanwhile
    PyObject* item = PySequence_Fast_GET_ITEM(list, i);
    if (Py_TYPE(item) == harmless) continue;
    if (IsHarmless(Py_TYPE(item))) {
      harmless = Py_TYPE(item);
      continue;
    }
    const PyRef held = PyRef::Borrow(item);
    if (!CheckItem(item, depth)) return false;
  }
  return true;
}

bool CheckItem(PyObject* item, int depth) {
  if (PyList_Check(item) || PyTuple_Check(item)) return CheckItemsAt(item, depth + 1);
  if (PyArray_Check(item)) return CheckMask(item);
  if (!IsEndless(item)) return true;
  PyErr_Format(
      PyExc_TypeError,
      "array: a list holds an object (%s) that has a length and [i] beyond it, so that NumPy would "
      "never be done with it; raise IndexError there, or give it outside of a list",
      Py_TYPE(item)->tp_name);
  return false;
}

}  // namespace

// An object with a length and [i] beyond it, as many datasets are: NumPy would iterate over it
// forever.
bool IsEndless(PyObject* object) {
  if (PyList_Check(object) || PyTuple_Check(object) || !PySequence_Check(object) ||
      Py_TYPE(object)->tp_iter || PyObject_CheckBuffer(object) ||
      PyObject_HasAttrString(object, "__array__")) {
    return false;
  }
  Py_ssize_t size = PySequence_Size(object);
  PyRef beyond = size < 0 ? PyRef() : PyRef::Steal(PySequence_GetItem(object, size));
  PyErr_Clear();
  return static_cast<bool>(beyond);
}

// A dataset has rows, from which NumPy would make an array; as an element it is a single object,
// like a window.
bool IsDataset(PyObject* object) {
  return !PyList_Check(object) && !PyTuple_Check(object) && PySequence_Check(object) &&
         PyObject_HasAttrString(object, "_node");
}

bool CheckMask(PyObject* array) {
  const int masked = IsMasked(array);
  if (masked > 0) {
    PyErr_SetString(PyExc_ValueError,
                    "array: it is masked, and masks do not travel; fill it first "
                    "(array.filled(...)), or give the mask as an array of its own");
  }
  return masked == 0;
}

bool CheckItems(PyObject* list) { return CheckItemsAt(list, 0); }

}  // namespace penstock
