// Declarations that the files of the binding share.
#pragma once

#include <pybind11/pybind11.h>

#include "engine/dataset.h"
#include "python/python.h"

namespace penstock {

struct Observed;

// The plan of a Python Dataset, null (no error set) for any other object.
DatasetPtr DatasetOfPython(PyObject* object);
// The same plan, which keeps the Python object alive as well; `session` is that of the run that
// holds it.
DatasetPtr KeepingDataset(PyObject* object, Session* session);
// A dataset that the engine has made, as a Python Dataset in a leaf.
Tensor DatasetToPython(DatasetPtr dataset);

// A function that calls no Python: one that opens files, or a program.
struct NativeFunction {
  PlannedFunction function;
  PyObject* plain = nullptr;  // what it was traced from, and is run as when debugging; borrowed
};

// A function that worker processes call.
struct ProcessFunctionOfPython {
  std::string pickled;              // what a worker makes it of
  pybind11::object plain;           // what it is a copy of, and is run as when debugging
  int64_t timeout_ns;               // of a row; 0: none
  std::shared_ptr<const int> file;  // what of it is not in `pickled`; may be null
};
// What else a worker process needs to know of a function.
struct ProcessForm {
  std::shared_ptr<const ElementSpec> declared;
  bool wants_rng = false;
  int64_t timeout_ns = 0;
};
// With the GIL. Throws an Error for what cannot be pickled, which names `stage`.
FunctionPtr PickledProcessFunction(const std::string& stage, const PyRef& function,
                                   const ProcessForm& form);
// A function that says who calls it, other than ProcessFunctionOfPython.
struct ExecutedFunctionOfPython {
  pybind11::object plain;
  std::string executor;  // as ExecutorOf takes it
  int64_t timeout_ns;    // of a row in a worker process; 0: none
};
PlannedFunction PlannedProcessFunction(const ProcessFunctionOfPython& function,
                                       std::shared_ptr<const ElementSpec> declared, bool wants_rng);

// A dict of keyword arguments as engine arguments.
Args ArgsOfDict(const std::string& owner, const pybind11::dict& dict);

// Counters of every stage, and what AUTOTUNE changed; empty without a session.
pybind11::list StatsOf(const Session* session);
pybind11::list MovesOf(const Session* session);
pybind11::dict ObservedToPython(const Observed& seen);

// For py::class_: __new__ makes a whole object or raises TypeError. pybind11 leaves that to
// __init__, and would read memory that was never written when an object has skipped it.
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
