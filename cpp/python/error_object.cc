// Making the exception of an error, and telling those that end the program.
#include "python/error_object.h"

#include <cstdlib>
#include <new>

#include "data/error_object.h"
#include "python/errors.h"
#include "python/gil.h"
#include "python/types.h"

namespace penstock {
namespace {

Tensor ErrorObject(const Error& error) {
  EnsureAttached();
  RaisePython(error);
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  PyRef held = PyRef::Steal(value);
  PyObject** item = NewReferences(1);
  *item = held.release();
  return AdoptObjects(TypeCode::kObject, {}, item, 1);
}

// Without the GIL: the bases of a live class are read, which nobody changes.
bool EndsProgram(const Error& error) {
  if (!error.foreign()) return false;
  auto* exception = static_cast<PyObject*>(error.foreign().get());
  return PyType_IsSubtype(Py_TYPE(exception), reinterpret_cast<PyTypeObject*>(PyExc_Exception)) ==
         0;
}

}  // namespace

void InitErrorObject() {
  g_error_object = ErrorObject;
  g_ends_program = EndsProgram;
}

}  // namespace penstock
