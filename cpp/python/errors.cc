// Errors of the engine to exceptions of Python, and back.
#include "python/errors.h"

#include <string>

#include "python/gil.h"

namespace penstock {
namespace {

PyRef TakeRaised() {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace && value) PyException_SetTraceback(value, trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  return PyRef::Steal(value);
}

// Adds a note once, however often the same exception object is raised.
void AddNote(PyObject* exception, const std::string& text) {
  PyRef note = PyRef::Steal(PyUnicode_FromString(text.c_str()));
  PyRef notes = PyRef::Steal(PyObject_GetAttrString(exception, "__notes__"));
  if (notes && PySequence_Contains(notes.get(), note.get()) == 1) return;
  PyErr_Clear();
  PyRef done = PyRef::Steal(PyObject_CallMethod(exception, "add_note", "O", note.get()));
  PyErr_Clear();
}

PyRef MakeException(const Error& error) {
  const char* message = error.message().c_str();
  PyObject* type = PyExc_RuntimeError;
  switch (error.kind()) {
    case ErrorKind::kNotFound:
    case ErrorKind::kOs:
      // OSError picks the subclass by errno: FileNotFoundError, PermissionError, ...
      return PyRef::Steal(PyObject_CallFunction(PyExc_OSError, "iss", error.os_error(), message,
                                                error.origin().file->c_str()));
    case ErrorKind::kData: {
      PyRef module = PyRef::Steal(PyImport_ImportModule("penstock.errors"));
      PyRef cls =
          module ? PyRef::Steal(PyObject_GetAttrString(module.get(), "DataError")) : PyRef();
      if (!cls) return {};
      const Origin& origin = error.origin();
      return PyRef::Steal(PyObject_CallFunction(
          cls.get(), "szLL", message, origin.file ? origin.file->c_str() : nullptr,
          static_cast<long long>(origin.offset), static_cast<long long>(origin.index)));
    }
    case ErrorKind::kInvalidArgument:
      type = PyExc_ValueError;
      break;
    case ErrorKind::kType:
      type = PyExc_TypeError;
      break;
    case ErrorKind::kMemory:
      type = PyExc_MemoryError;
      break;
    default:
      break;
  }
  return PyRef::Steal(PyObject_CallFunction(type, "s", message));
}

}  // namespace

Error CurrentPythonError() { return Error::Foreign(ToForeign(TakeRaised())); }

Error CurrentUserError() {
  bool stops = PyErr_ExceptionMatches(PyExc_StopIteration) ||
               PyErr_ExceptionMatches(PyExc_StopAsyncIteration) ||
               PyErr_ExceptionMatches(PyExc_GeneratorExit);
  PyRef raised = TakeRaised();
  if (stops) {
    PyErr_Format(PyExc_RuntimeError, "the function raised %s, which would end the data silently",
                 Py_TYPE(raised.get())->tp_name);
    PyRef wrapper = TakeRaised();
    PyException_SetCause(wrapper.get(), raised.release());
    raised = std::move(wrapper);
  }
  return Error::Foreign(ToForeign(std::move(raised)));
}

void RaisePython(const Error& error) {
  PyRef exception = error.foreign() ? PyRef::Borrow(static_cast<PyObject*>(error.foreign().get()))
                                    : MakeException(error);
  if (!exception) return;
  for (const std::string& note : error.notes()) AddNote(exception.get(), note);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.get())), exception.get());
}

}  // namespace penstock
