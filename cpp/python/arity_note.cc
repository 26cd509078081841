// Asking the signature of a function that could not be called.
#include "python/arity_note.h"

#include "python/gil.h"

namespace penstock {

std::string ArityNote(const Error& error, PyObject* function, const char* stage, size_t count,
                      bool rng) {
  auto* raised = static_cast<PyObject*>(error.foreign().get());
  if (!raised || Py_TYPE(raised) != reinterpret_cast<PyTypeObject*>(PyExc_TypeError)) return "";
  // What was raised inside a function of Python has passed through its frame.
  PyRef trace = PyRef::Steal(PyException_GetTraceback(raised));
  if (trace) return "";
  PyRef module = PyRef::Steal(PyImport_ImportModule("penstock.arity"));
  PyRef note = module ? PyRef::Steal(PyObject_CallMethod(
                            module.get(), "arity_note", "OsnO", function, stage,
                            static_cast<Py_ssize_t>(count), rng ? Py_True : Py_False))
                      : PyRef();
  const char* text = note && PyUnicode_Check(note.get()) ? PyUnicode_AsUTF8(note.get()) : nullptr;
  PyErr_Clear();
  return text ? text : "";
}

}  // namespace penstock
