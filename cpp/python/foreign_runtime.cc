// What the engine asks of Python: strings and classes that it carries, errors as exceptions,
// datasets as objects.
#include "python/foreign_runtime.h"

#include <algorithm>

#include "data/error.h"
#include "data/foreign.h"
#include "python/bind.h"
#include "python/errors.h"
#include "python/gil.h"
#include "python/pytree.h"
#include "python/types.h"

namespace penstock {
namespace {

PyObject* Bytes(std::string_view bytes) {
  return PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size()));
}

std::string BytesOf(const PyRef& bytes) {
  return {PyBytes_AS_STRING(bytes.get()), static_cast<size_t>(PyBytes_GET_SIZE(bytes.get()))};
}

// Adds the classes of named tuples and records. False with an error set.
bool AddClasses(const Structure& structure, PyObject* list) {
  const auto kind = structure.kind();
  if (kind == Structure::Kind::kNamedTuple || kind == Structure::Kind::kRecord) {
    auto* made = static_cast<PyObject*>(const_cast<void*>(structure.foreign()));
    if (PyList_Append(list, made) < 0) return false;
  }
  return std::ranges::all_of(structure.children(),
                             [&](const StructureRef& child) { return AddClasses(*child, list); });
}

// Calls a function of penstock.workers.objects with one argument.
PyRef Ask(const char* function, PyRef argument) {
  PyRef module =
      PyRef::Steal(argument ? PyImport_ImportModule("penstock.workers.objects") : nullptr);
  PyRef called = PyRef::Steal(module ? PyObject_GetAttrString(module.get(), function) : nullptr);
  PyRef result = PyRef::Steal(
      called ? CallPython([&] { return PyObject_CallOneArg(called.get(), argument.get()); })
             : nullptr);
  if (!result) throw CurrentPythonError();
  return result;
}

class PythonRuntime final : public ForeignRuntime {
 public:
  std::string_view String(const void* object) override {
    return StringOf(static_cast<PyObject*>(const_cast<void*>(object)));
  }
  void Release(const void* object) override {
    DeferredDecref(static_cast<PyObject*>(const_cast<void*>(object)));
  }
  ForeignRef FindForm(Structure::Kind kind, const std::string& name,
                      const std::vector<std::string>& fields) override {
    return FindPythonForm(kind, name, fields);
  }
  Tensor ErrorObject(const Error& error) override {
    EnsureAttached();
    RaisePython(error);
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return AdoptObject(TypeCode::kObject, PyRef::Steal(value));
  }
  // Without the GIL: the bases of a live class are read, which nothing changes.
  bool EndsProgram(const Error& error) override {
    if (!error.foreign()) return false;
    if (error.kind() == ErrorKind::kWorker) return true;
    auto* exception = static_cast<PyObject*>(error.foreign().get());
    return !PyType_IsSubtype(Py_TYPE(exception), reinterpret_cast<PyTypeObject*>(PyExc_Exception));
  }
  std::string Pickle(const Tensor& objects) override {
    EnsureAttached();
    const auto count = static_cast<Py_ssize_t>(objects.elements());
    PyRef list = PyRef::Steal(PyList_New(count));
    if (!list) throw CurrentPythonError();
    for (Py_ssize_t i = 0; i < count; ++i) {
      auto* object = static_cast<PyObject*>(objects.objects()[i]);
      PyList_SET_ITEM(list.get(), i, Py_NewRef(object));
    }
    return BytesOf(Ask("pickled", std::move(list)));
  }
  Tensor Unpickle(std::string_view bytes, const Shape& shape) override {
    EnsureAttached();
    PyRef list = Ask("unpickled", PyRef::Steal(Bytes(bytes)));
    const auto count = static_cast<size_t>(shape.elements());
    PyObject** held = NewReferences(count);
    for (size_t i = 0; i < count; ++i) {
      held[i] = Py_NewRef(PyList_GET_ITEM(list.get(), static_cast<Py_ssize_t>(i)));
    }
    return AdoptObjects(TypeCode::kObject, shape, held, count);
  }
  std::string PickleForms(const Structure& structure) override {
    EnsureAttached();
    PyRef classes = PyRef::Steal(PyList_New(0));
    if (!classes || !AddClasses(structure, classes.get())) throw CurrentPythonError();
    if (PyList_GET_SIZE(classes.get()) == 0) return {};
    return BytesOf(Ask("pickled", std::move(classes)));
  }
  void UnpickleForms(std::string_view bytes) override {
    EnsureAttached();
    Ask("know_classes", PyRef::Steal(Bytes(bytes)));
  }
  std::string PickleError(const Error& error) override {
    EnsureAttached();
    return BytesOf(
        Ask("pickled_error", PyRef::Borrow(static_cast<PyObject*>(error.foreign().get()))));
  }
  std::shared_ptr<void> UnpickleError(std::string_view bytes) override {
    EnsureAttached();
    return ToForeign(Ask("unpickled_error", PyRef::Steal(Bytes(bytes))));
  }
  bool TakeLock() override { return TakeGil(); }
  Tensor WrapDataset(DatasetPtr dataset) override { return DatasetToPython(std::move(dataset)); }
};

}  // namespace

void InitForeignRuntime() {
  static PythonRuntime runtime;
  SetForeignRuntime(runtime);
}

}  // namespace penstock
