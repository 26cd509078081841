// What the engine asks of Python: strings and classes that it carries, errors as exceptions,
// datasets as objects.
#include "python/foreign_runtime.h"

#include "data/error.h"
#include "data/foreign.h"
#include "python/bind.h"
#include "python/errors.h"
#include "python/gil.h"
#include "python/pytree.h"
#include "python/types.h"

namespace penstock {
namespace {

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
    auto* exception = static_cast<PyObject*>(error.foreign().get());
    return !PyType_IsSubtype(Py_TYPE(exception), reinterpret_cast<PyTypeObject*>(PyExc_Exception));
  }
  Tensor WrapDataset(DatasetPtr dataset) override { return DatasetToPython(std::move(dataset)); }
};

}  // namespace

void InitForeignRuntime() {
  static PythonRuntime runtime;
  SetForeignRuntime(runtime);
}

}  // namespace penstock
