// Implements the engine's interface to Python: strings and classes that it carries, errors as
// exceptions, datasets as objects.
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

// Appends the classes of named tuples and records to `list`. False with an error set.
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

// Calls `call` with the GIL on any thread; afterwards the thread holds the GIL exactly if it did
// before.
template <typename Call>
auto WithGil(const Call& call) {
  if (Attachment* attachment = CurrentAttachment()) {
    const bool attached = attachment->attached();
    attachment->Attach();
    struct Restore {
      ~Restore() {
        if (!attached) attachment->Detach();
      }
      Attachment* attachment;
      bool attached;
    } const restore{attachment, attached};
    return call();
  }
  if (HoldsGil()) return call();
  const UsingPython python;
  if (!python) throw Error(ErrorKind::kCancelled, "Python is exiting");
  return call();
}

// Calls a function of penstock.ops.image.pillow with a file.
PyRef AskPillow(const char* function, const ImageFile& file) {
  PyRef module = PyRef::Steal(PyImport_ImportModule("penstock.ops.image.pillow"));
  PyRef called = PyRef::Steal(module ? PyObject_GetAttrString(module.get(), function) : nullptr);
  PyRef contents = PyRef::Steal(called ? Bytes(file.contents) : nullptr);
  auto call = [&] {
    return PyObject_CallFunction(
        called.get(), "sOLOLO", file.op, contents.get(), static_cast<long long>(file.channels),
        file.wide ? Py_True : Py_False, static_cast<long long>(file.max_pixels),
        file.frames ? Py_True : Py_False);
  };
  PyRef result = PyRef::Steal(contents ? CallPython(call) : nullptr);
  if (result) return result;
  Attachment* attachment = CurrentAttachment();
  if (attachment && attachment->TakeInterrupt()) throw Error(ErrorKind::kInterrupted, "");
  throw CurrentPythonError();
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
  // Runs without the GIL: reads only the bases of a live class, which never change.
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
  Tensor DecodeImage(const ImageFile& file) override {
    return WithGil([&] {
      const PyRef image = AskPillow("decode_file", file);
      Tensor tensor;
      if (!ToTensor(image.get(), Sharing::kCopy, &tensor)) throw CurrentPythonError();
      return tensor;
    });
  }
  Shape ImageShape(const ImageFile& file) override {
    return WithGil([&] {
      const PyRef sizes = AskPillow("shape_of_file", file);
      std::vector<int64_t> dims;
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sizes.get()); ++i) {
        dims.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(sizes.get(), i)));
      }
      return Shape(dims.data(), dims.size());
    });
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
