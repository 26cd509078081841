// Inspects the signature of a function that could not be called, and the text of its exception.
#include "python/call_note.h"

#include "python/gil.h"

namespace penstock {
namespace {

std::string ArityNote(PyObject* raised, PyObject* function, const char* stage, size_t count,
                      bool rng) {
  // An exception raised inside a Python function has a traceback.
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

// NumPy's texts: "output array is read-only", "assignment destination is read-only". Read without
// str(), which would run signal handlers.
std::string ReadOnlyNote(PyObject* raised) {
  PyObject* args = reinterpret_cast<PyBaseExceptionObject*>(raised)->args;
  if (!args || PyTuple_GET_SIZE(args) != 1) return "";
  PyObject* message = PyTuple_GET_ITEM(args, 0);
  if (!PyUnicode_CheckExact(message)) return "";
  const char* text = PyUnicode_AsUTF8(message);
  if (!text) PyErr_Clear();
  if (!text || !std::string_view(text).ends_with("read-only")) return "";
  return "penstock: an element may share its memory with others, with your own array for example: "
         "write x = x / 255 for x /= 255, or begin with x = x.copy()";
}

}  // namespace

std::string CallNote(const Error& error, PyObject* function, const char* stage, size_t count,
                     bool rng) {
  auto* raised = static_cast<PyObject*>(error.foreign().get());
  if (!raised) return "";
  const auto* type = reinterpret_cast<PyObject*>(Py_TYPE(raised));
  if (type == PyExc_TypeError) return ArityNote(raised, function, stage, count, rng);
  return type == PyExc_ValueError ? ReadOnlyNote(raised) : "";
}

}  // namespace penstock
