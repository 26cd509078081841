// Worker processes: how they start, what they receive, and their main loop.

#include <pybind11/stl.h>

#include <algorithm>

#include "data/block_size.h"
#include "engine/session.h"
#include "python/bind.h"
#include "python/errors.h"
#include "python/generator.h"
#include "python/gil.h"
#include "python/py_function.h"
#include "python/specs.h"
#include "python/whole.h"
#include "python/worker_command.h"
#include "runtime/clock.h"
#include "storage/chunk/chunk_index.h"
#include "workers/library_threads.h"
#include "workers/pool.h"
#include "workers/process_function.h"
#include "workers/serve.h"
#if defined(__linux__)
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#endif

namespace py = pybind11;

namespace penstock {
namespace {

// The properties of a function that are not in its pickle.
struct FunctionForm {
  std::shared_ptr<const ElementSpec> declared;
  bool wants_rng = false;
  bool opaque = false;  // for generators

  void Visit(StateVisitor& visitor) {
    visitor.Bool(wants_rng);
    visitor.Bool(opaque);
    bool has = declared != nullptr;
    visitor.Bool(has);
    if (!has) return;
    ElementSpec spec = visitor.saving() ? *declared : ElementSpec();
    VisitSpec(visitor, spec);
    if (!visitor.saving()) declared = std::make_shared<const ElementSpec>(std::move(spec));
  }
};

std::string PayloadOf(FunctionForm form, std::string pickled) {
  std::string payload;
  StateVisitor visitor(&payload);
  form.Visit(visitor);
  visitor.Text(pickled);
  return payload;
}

// Elements from a separate run.
class ServedRun final : public ServedElements {
 public:
  explicit ServedRun(const DatasetPtr& dataset)
      : session_(dataset, RunOptions(), RunIdentity::Next(*dataset, false)) {}
  Block Next(int64_t most) override {
    const int64_t start = NowNs();
    Block block = session_.NextBlock(std::min(grain_.rows(), most));
    grain_.Learn(block.rows, NowNs() - start);
    return block;
  }

 private:
  Session session_;
  Grain grain_ = Grain::Ahead(Lane::kPython);
};

void ServeFrom(const py::function& load) {
  Attachment attachment(Attachment::Role::kLane);
  // Removes the form from the payload.
  auto loaded = [&](std::string_view payload, int file, FunctionForm& form) {
    EnsureAttached();
    StateVisitor visitor(payload, "worker processes");
    form.Visit(visitor);
    const std::string_view pickled = visitor.TextView();
    PyRef bytes = PyRef::Steal(
        PyBytes_FromStringAndSize(pickled.data(), static_cast<Py_ssize_t>(pickled.size())));
    PyRef function = PyRef::Steal(bytes ? CallPython([&] {
      return PyObject_CallFunction(load.ptr(), "Oi", bytes.get(), file);
    })
                                        : nullptr);
    if (!function) throw CurrentUserError();
    return function;
  };
  ServeHooks hooks;
  hooks.load = [&](std::string_view payload, int file) {
    FunctionForm form;
    PyRef function = loaded(payload, file, form);
    return MakePyFunction(std::move(function), std::move(form.declared),
                          {.wants_rng = form.wants_rng});
  };
  hooks.open = [&](const StreamOrder& order, std::atomic<int64_t>* progress) {
    FunctionForm form;
    PyRef generator = loaded(order.payload, -1, form);
    return std::make_unique<ServedRun>(
        ServedGenerator(std::move(generator), form.declared, form.opaque, order, progress));
  };
  Serve(hooks);
  EnsureAttached();
}

}  // namespace

namespace {

// Converts the exception to an error that carries only text.
Error InWords() {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  const bool of_type = PyErr_GivenExceptionMatches(type, PyExc_TypeError);
  PyErr_NormalizeException(&type, &value, &trace);
  PyRef text = PyRef::Steal(value ? PyObject_Str(value) : nullptr);
  const char* shown = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  Error error(of_type ? ErrorKind::kType : ErrorKind::kRuntime, "{}",
              std::string_view(shown ? shown : "the function cannot be sent to worker processes"));
  PyErr_Clear();
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  return error;
}

struct PickledFunction {
  std::string bytes;
  KeptFile file;  // for its large arrays; may be null
};

// With the GIL. `shares`: large arrays may go to a file. `setup`: a Python Setup, or null.
PickledFunction Pickled(const std::string& stage, const PyRef& function, bool shares,
                        PyObject* setup) {
  PyRef module = PyRef::Steal(PyImport_ImportModule("penstock.workers.process_function"));
  PyRef made = PyRef::Steal(module ? CallPython([&] {
    PyObject* const shares_large = shares ? Py_True : Py_False;
    if (!setup) {
      return PyObject_CallMethod(module.get(), "sent", "sOO", stage.c_str(), function.get(),
                                 shares_large);
    }
    return PyObject_CallMethod(module.get(), "sent", "sOOO", stage.c_str(), function.get(),
                               shares_large, setup);
  })
                                   : nullptr);
  PyObject *bytes, *arrays;
  if (!made || !PyArg_ParseTuple(made.get(), "SO", &bytes, &arrays)) throw InWords();
  PickledFunction pickled{{PyBytes_AS_STRING(bytes), static_cast<size_t>(PyBytes_GET_SIZE(bytes))},
                          nullptr};
  if (arrays == Py_None) return pickled;
  PyRef file = PyRef::Steal(PyObject_GetAttrString(arrays, "file"));
  const long number = file ? PyLong_AsLong(file.get()) : -1;
  if (number == -1 && PyErr_Occurred()) throw InWords();
  pickled.file = KeepFile(static_cast<int>(number));
  return pickled;
}

}  // namespace

namespace {

// Like os.fork, but the new process is a child of this process's parent. Returns 0 in the new
// process, its id in this one, or a negative error number: -ENOSYS if the system has no such fork.
// This process must have no other thread: handlers of pthread_atfork are not called.
int ForkSibling() {
#if defined(__linux__)
  // The C library stores the thread's id there, and must get the new one, as after fork().
  int* thread_id = nullptr;
  if (prctl(PR_GET_TID_ADDRESS, &thread_id) != 0 || thread_id == nullptr ||
      *thread_id != static_cast<int>(syscall(SYS_gettid))) {
    return -ENOSYS;
  }
  constexpr unsigned long kFlags = CLONE_PARENT | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID |
                                   static_cast<unsigned long>(SIGCHLD);
  PyOS_BeforeFork();
  // Pass the address twice: the order of the last two arguments depends on the architecture, and
  // the other one is unused.
  const long pid = syscall(SYS_clone, kFlags, nullptr, nullptr, thread_id, thread_id);
  const int code = errno;
  if (pid == 0) {
    PyOS_AfterFork_Child();
    return 0;
  }
  PyOS_AfterFork_Parent();
  return pid < 0 ? -code : static_cast<int>(pid);
#else
  return -1;
#endif
}

}  // namespace

FunctionPtr PickledProcessFunction(const std::string& stage, const PyRef& function,
                                   const ProcessForm& form) {
  PickledFunction pickled = Pickled(stage, function, true, nullptr);
  return MakeProcessFunction(PayloadOf({form.declared, form.wants_rng}, std::move(pickled.bytes)),
                             std::move(pickled.file), form.timeout_ns);
}

std::string PickledGenerator(const std::string& stage, const PyRef& generator, PyObject* setup,
                             std::shared_ptr<const ElementSpec> declared, bool opaque) {
  return PayloadOf({std::move(declared), false, opaque},
                   Pickled(stage, generator, false, setup).bytes);
}

PlannedFunction PlannedProcessFunction(const ProcessFunctionOfPython& function,
                                       std::shared_ptr<const ElementSpec> declared,
                                       bool wants_rng) {
  std::string payload = PayloadOf({declared, wants_rng}, function.pickled);
  return {MakeProcessFunction(std::move(payload), function.file, function.timeout_ns),
          MakePyFunction(PyRef::Borrow(function.plain.ptr()), std::move(declared),
                         {.wants_rng = wants_rng})};
}

namespace {

ProcessFunctionOfPython FunctionInProcess(const py::bytes& pickled, const py::object& plain,
                                          double timeout, int file) {
  return {pickled, plain, static_cast<int64_t>(timeout * 1e9), KeepFile(file)};
}

ExecutedFunctionOfPython ExecutedFunction(const py::object& plain, const std::string& executor,
                                          double timeout) {
  return {plain, executor, static_cast<int64_t>(timeout * 1e9)};
}

}  // namespace

void BindWorkers(py::module_& module) {
  py::class_<ProcessFunctionOfPython> in_process(module, "ProcessFunction",
                                                 py::custom_type_setup(MadeWhole));
  DefInit(Noted(in_process), &FunctionInProcess, py::arg("pickled"), py::arg("plain"),
          py::arg("timeout"), py::arg("file"));
  py::class_<ExecutedFunctionOfPython> executed(module, "ExecutedFunction",
                                                py::custom_type_setup(MadeWhole));
  DefInit(Noted(executed), &ExecutedFunction, py::arg("plain"), py::arg("executor"),
          py::arg("timeout"));
  module.def(
      "set_worker_command",
      [](const CommandOfPython& command) { SetWorkerCommand(ToWorkerCommand(command)); },
      py::arg("command"));
  module.def("fork_sibling", &ForkSibling);
  module.def("idle_workers", [] { return ThePool().Idle(); });
  module.def("end_idle_workers", [] {
    const py::gil_scoped_release without_gil;
    ThePool().EndIdle(0);
  });
  module.def("library_thread_limits", [] {
    py::dict limits;
    for (auto [name, value] : LibraryThreadLimits()) limits[py::str(name)] = py::str(value);
    return limits;
  });
  module.def("serve", &ServeFrom, py::arg("load"));
}

}  // namespace penstock
