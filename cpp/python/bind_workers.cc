// Worker processes: how they are started, what they are sent, and their main loop.

#include <pybind11/stl.h>

#include "python/bind.h"
#include "python/errors.h"
#include "python/gil.h"
#include "python/py_function.h"
#include "python/specs.h"
#include "storage/chunk/chunk_index.h"
#include "workers/pool.h"
#include "workers/process_function.h"
#include "workers/serve.h"

namespace py = pybind11;

namespace penstock {
namespace {

// What of a function is not in its pickle.
struct FunctionForm {
  std::shared_ptr<const ElementSpec> declared;
  bool wants_rng = false;

  void Visit(StateVisitor& visitor) {
    visitor.Bool(wants_rng);
    bool has = declared != nullptr;
    visitor.Bool(has);
    if (!has) return;
    ElementSpec spec = visitor.saving() ? *declared : ElementSpec();
    VisitSpec(visitor, spec);
    if (!visitor.saving()) declared = std::make_shared<const ElementSpec>(std::move(spec));
  }
};

void ServeFrom(const py::function& load) {
  Attachment attachment(Attachment::Role::kLane);
  Serve([&](std::string_view payload, int file) {
    EnsureAttached();
    FunctionForm form;
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
    return MakePyFunction(std::move(function), std::move(form.declared),
                          {.wants_rng = form.wants_rng});
  });
  EnsureAttached();
}

}  // namespace

PlannedFunction PlannedProcessFunction(const ProcessFunctionOfPython& function,
                                       std::shared_ptr<const ElementSpec> declared,
                                       bool wants_rng) {
  std::string payload;
  StateVisitor visitor(&payload);
  FunctionForm form{declared, wants_rng};
  form.Visit(visitor);
  std::string pickled = function.pickled;
  visitor.Text(pickled);
  return {MakeProcessFunction(std::move(payload), function.file, function.timeout_ns),
          MakePyFunction(PyRef::Borrow(function.plain.ptr()), std::move(declared),
                         {.wants_rng = wants_rng})};
}

void BindWorkers(py::module_& module) {
  py::class_<ProcessFunctionOfPython>(module, "ProcessFunction", py::custom_type_setup(MadeWhole))
      .def(
          py::init([](const py::bytes& pickled, const py::object& plain, double timeout, int file) {
            return ProcessFunctionOfPython{pickled, plain, static_cast<int64_t>(timeout * 1e9),
                                           KeepFile(file)};
          }),
          py::arg("pickled"), py::arg("plain"), py::arg("timeout"), py::arg("file"));
  module.def("set_worker_command", &SetWorkerCommand, py::arg("command"));
  module.def("idle_workers", [] { return ThePool().Idle(); });
  module.def("serve", &ServeFrom, py::arg("load"));
}

}  // namespace penstock
