// Converts engine errors to Python exceptions, and back.
#include "python/errors.h"

#include <string>
#include <utility>

#include "data/printable.h"
#include "python/gil.h"

namespace penstock {
namespace {

// While 16 MemoryErrors exist, CPython raises one shared object for all others. It is never freed
// and would collect the notes of all of them, so each one gets a separate object here.
void ReplaceLastResort(PyObject*& value) {
  constexpr Py_ssize_t kImmortal = 1 << 29;  // any version's count is larger
  if (!Py_IS_TYPE(value, reinterpret_cast<PyTypeObject*>(PyExc_MemoryError)) ||
      Py_REFCNT(value) < kImmortal) {
    return;
  }
  PyObject* own = PyObject_CallNoArgs(PyExc_MemoryError);
  if (!own) return PyErr_Clear();
  Py_SETREF(value, own);
}

PyRef TakeRaised() {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (value) ReplaceLastResort(value);
  if (trace && value) PyException_SetTraceback(value, trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  return PyRef::Steal(value);
}

// Messages quote data, which may not be valid UTF-8.
PyRef NoteText(const std::string& original) {
  const std::string text = WithoutSecrets(original);
  return PyRef::Steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
}

PyRef NameOf(const std::string& path) {
  const std::string file = WithoutSecrets(path);
  return PyRef::Steal(
      PyUnicode_DecodeFSDefaultAndSize(file.data(), static_cast<Py_ssize_t>(file.size())));
}

// Adds a note once, however often the same exception object is raised.
void AddNote(PyObject* exception, const std::string& text) {
  PyRef note = NoteText(text);
  if (!note) return PyErr_Clear();
  PyRef notes = PyRef::Steal(PyObject_GetAttrString(exception, "__notes__"));
  if (notes && PySequence_Contains(notes.get(), note.get()) == 1) return;
  PyErr_Clear();
  PyRef done = PyRef::Steal(PyObject_CallMethod(exception, "add_note", "O", note.get()));
  PyErr_Clear();
}

PyRef ClassNamed(const char* name) {
  PyRef module = PyRef::Steal(PyImport_ImportModule("penstock.errors"));
  return module ? PyRef::Steal(PyObject_GetAttrString(module.get(), name)) : PyRef();
}

// Gives a DataError that a function raised the origin of the element the function received.
void AddOrigin(PyObject* exception, const Origin& origin) {
  if (!origin.file) return;
  PyRef cls = ClassNamed("DataError");
  const bool known = cls && PyObject_IsInstance(exception, cls.get()) == 1;
  PyRef found = known ? PyRef::Steal(PyObject_GetAttrString(exception, "file")) : PyRef();
  if (found && found.get() == Py_None) {
    PyRef name = NameOf(*origin.file);
    if (name) PyObject_SetAttrString(exception, "file", name.get());
    const std::pair<const char*, int64_t> numbers[] = {{"offset", origin.offset},
                                                       {"element", origin.index}};
    for (auto [attribute, number] : numbers) {
      PyRef value = number < 0 ? PyRef() : PyRef::Steal(PyLong_FromLongLong(number));
      if (value) PyObject_SetAttrString(exception, attribute, value.get());
    }
  }
  PyErr_Clear();
}

PyRef MakeException(const Error& error) {
  PyRef message = NoteText(error.message());
  if (!message) return {};
  PyObject* type = PyExc_RuntimeError;
  switch (error.kind()) {
    case ErrorKind::kNotFound:
    case ErrorKind::kOs:
      // OSError picks the subclass by errno: FileNotFoundError, PermissionError, ...
      return PyRef::Steal(PyObject_CallFunction(PyExc_OSError, "iON", error.os_error(),
                                                message.get(),
                                                NameOf(*error.origin().file).release()));
    case ErrorKind::kData: {
      PyRef cls = ClassNamed("DataError");
      if (!cls) return {};
      const Origin& origin = error.origin();
      PyRef file = origin.file ? NameOf(*origin.file) : PyRef::Borrow(Py_None);
      if (!file) return {};
      return PyRef::Steal(PyObject_CallFunction(cls.get(), "OOLL", message.get(), file.get(),
                                                static_cast<long long>(origin.offset),
                                                static_cast<long long>(origin.index)));
    }
    case ErrorKind::kState: {
      PyRef cls = ClassNamed("StateError");
      return cls ? PyRef::Steal(PyObject_CallOneArg(cls.get(), message.get())) : PyRef();
    }
    case ErrorKind::kWorker: {
      PyRef module = PyRef::Steal(PyImport_ImportModule("penstock.errors"));
      PyRef cls =
          module ? PyRef::Steal(PyObject_GetAttrString(module.get(), "WorkerError")) : PyRef();
      return cls ? PyRef::Steal(PyObject_CallOneArg(cls.get(), message.get())) : PyRef();
    }
    case ErrorKind::kInvalidArgument:
      type = PyExc_ValueError;
      break;
    case ErrorKind::kType:
      type = PyExc_TypeError;
      break;
    case ErrorKind::kOverflow:
      type = PyExc_OverflowError;
      break;
    case ErrorKind::kMemory:
      type = PyExc_MemoryError;
      break;
    case ErrorKind::kRecursion:
      type = PyExc_RecursionError;
      break;
    default:
      break;
  }
  return PyRef::Steal(PyObject_CallFunction(type, "O", message.get()));
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
  if (error.foreign()) AddOrigin(exception.get(), error.origin());
  for (const std::string& note : error.notes()) AddNote(exception.get(), note);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.get())), exception.get());
}

}  // namespace penstock
