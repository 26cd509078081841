// Determines the exit code of the child, and flushes its output.
#include "python/fork_child.h"

#include <cstdlib>

#include "python/python.h"

namespace penstock {
namespace {

void Flush(const char* name) {
  PyObject* stream = PySys_GetObject(name);  // borrowed; null or None: there is no such stream
  if (!stream || stream == Py_None) return;
  PyRef done = PyRef::Steal(PyObject_CallMethod(stream, "flush", nullptr));
  if (!done) PyErr_Clear();
}

// Follows the interpreter's rules; a code that is not a number is printed.
int CodeOfSystemExit() {
  PyObject *type, *raised, *trace;
  PyErr_Fetch(&type, &raised, &trace);
  PyErr_NormalizeException(&type, &raised, &trace);
  PyRef code = raised ? PyRef::Steal(PyObject_GetAttrString(raised, "code")) : PyRef();
  PyErr_Clear();
  if (!code || code.get() == Py_None) return 0;
  if (PyLong_Check(code.get())) {
    const auto number = static_cast<int>(PyLong_AsLong(code.get()));
    PyErr_Clear();
    return number;
  }
  if (PyObject* shown = PySys_GetObject("stderr"); shown && shown != Py_None) {
    PyFile_WriteObject(code.get(), shown, Py_PRINT_RAW);
    PyErr_Clear();
    PyFile_WriteString("\n", shown);
    PyErr_Clear();
  }
  return 1;
}

}  // namespace

void EndForkChild() {
  int code = 0;
  if (PyErr_ExceptionMatches(PyExc_SystemExit)) {
    code = CodeOfSystemExit();
  } else if (PyErr_Occurred()) {
    PyErr_Print();
    code = 1;
  }
  Flush("stdout");
  Flush("stderr");
  std::_Exit(code);
}

}  // namespace penstock
