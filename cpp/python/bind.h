// Declarations shared by the files of the bindings.
#pragma once

#include <pybind11/pybind11.h>

#include "engine/dataset.h"
#include "python/python.h"

namespace penstock {

struct Observed;

// The plan of a Python Dataset; null, with no error set, for any other object.
DatasetPtr DatasetOfPython(PyObject* object);
// The same plan, which also keeps the Python object alive. `session`: the session of the run that
// holds it.
DatasetPtr KeepingDataset(PyObject* object, Session* session);
// Wraps a dataset that the engine created as a Python Dataset in a leaf.
Tensor DatasetToPython(DatasetPtr dataset);

// A function that does not call Python: it opens files, or is a program.
struct NativeFunction {
  PlannedFunction function;
  PyObject* plain = nullptr;  // the traced function, used in debug mode; borrowed
};

// A function to be called in worker processes.
struct ProcessFunctionOfPython {
  std::string pickled;              // from which a worker builds the function
  pybind11::object plain;           // the original function, which replaces it in debug mode
  int64_t timeout_ns;               // for one row; 0: no limit
  std::shared_ptr<const int> file;  // holds what `pickled` does not, large arrays; may be null
};
// What else a worker process needs to know about a function.
struct ProcessForm {
  std::shared_ptr<const ElementSpec> declared;
  bool wants_rng = false;
  int64_t timeout_ns = 0;
};
// Needs the GIL. Throws an Error that names `stage` if the function cannot be pickled.
FunctionPtr PickledProcessFunction(const std::string& stage, const PyRef& function,
                                   const ProcessForm& form);
// A function with an explicit executor.
struct ExecutedFunctionOfPython {
  pybind11::object plain;
  std::string executor;  // as ExecutorOf accepts it
  int64_t timeout_ns;    // for one row in a worker process; 0: no limit
};
PlannedFunction PlannedProcessFunction(const ProcessFunctionOfPython& function,
                                       std::shared_ptr<const ElementSpec> declared, bool wants_rng);

// Converts a dict of keyword arguments to engine arguments.
Args ArgsOfDict(const std::string& owner, const pybind11::dict& dict);

// The counters of every stage, and the changes made by AUTOTUNE; empty without a session.
pybind11::list StatsOf(const Session* session);
pybind11::list MovesOf(const Session* session);
pybind11::dict ObservedToPython(const Observed& seen);

// For py::class_: makes __new__ either construct a complete object or raise TypeError. pybind11
// constructs in __init__, and would read uninitialised memory if a subclass skipped it.
void MadeWhole(PyHeapTypeObject* heap);

void BindDataset(pybind11::module_& module);
void BindIterator(pybind11::module_& module);
void BindModel(pybind11::module_& module);
void BindOp(pybind11::module_& module);
void BindParcels(pybind11::module_& module);
void BindRemote(pybind11::module_& module);
void BindState(pybind11::module_& module);
void BindTensorOperators(pybind11::module_& module);
void BindWorkers(pybind11::module_& module);
void BindZstd(pybind11::module_& module);

}  // namespace penstock
