// NumPy itself resolves which loop of a ufunc handles which types, so that results and their types
// are the same as in a call from Python.
#include "python/ufuncs.h"

#define PY_UFUNC_UNIQUE_SYMBOL penstock_UFUNC_API
#define NO_IMPORT_UFUNC
#include <numpy/ufuncobject.h>

#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "data/error.h"
#include "python/free_threads.h"
#include "python/types.h"

namespace penstock {
namespace {

constexpr int kMostOperands = 4;  // inputs and outputs: the maximum in elementwise.cc

DType TypeOfNumber(int number) {
  PyRef descr = PyRef::Steal(reinterpret_cast<PyObject*>(PyArray_DescrFromType(number)));
  DType type;
  bool known = descr && DTypeOfDescr(reinterpret_cast<PyArray_Descr*>(descr.get()), &type) &&
               type.code <= TypeCode::kCLongDouble;
  if (!known) {
    PyErr_Clear();
    return DType::Of(TypeCode::kObject);
  }
  return type;
}

// An input for resolve_dtypes: a dtype, or the Python type of a plain number. New reference.
PyRef KindToPython(int kind) {
  switch (kind - static_cast<int>(TypeCode::kCLongDouble)) {
    case LoopTable::kInt:
      return PyRef::Borrow(reinterpret_cast<PyObject*>(&PyLong_Type));
    case LoopTable::kFloat:
      return PyRef::Borrow(reinterpret_cast<PyObject*>(&PyFloat_Type));
    case LoopTable::kComplex:
      return PyRef::Borrow(reinterpret_cast<PyObject*>(&PyComplex_Type));
    default:
      return PyRef::Steal(
          reinterpret_cast<PyObject*>(DescrOf(DType::Of(static_cast<TypeCode>(kind)))));
  }
}

// The types of all operands for inputs of these kinds; empty if NumPy has no loop for them.
std::vector<DType> Resolve(PyObject* resolve, const std::vector<PyRef>& kinds,
                           const std::vector<int>& inputs, int outputs) {
  auto count = static_cast<Py_ssize_t>(inputs.size());
  PyRef operands = PyRef::Steal(PyTuple_New(count + outputs));
  if (!operands) throw std::bad_alloc();
  for (size_t i = 0; i < inputs.size(); ++i) {
    PyTuple_SET_ITEM(operands.get(), static_cast<Py_ssize_t>(i),
                     Py_NewRef(kinds[static_cast<size_t>(inputs[i])].get()));
  }
  for (int i = 0; i < outputs; ++i) {
    PyTuple_SET_ITEM(operands.get(), count + i, Py_NewRef(Py_None));
  }
  PyRef found = PyRef::Steal(PyObject_CallOneArg(resolve, operands.get()));
  std::vector<DType> types;
  for (Py_ssize_t i = 0; found && i < PyTuple_GET_SIZE(found.get()); ++i) {
    auto* descr = reinterpret_cast<PyArray_Descr*>(PyTuple_GET_ITEM(found.get(), i));
    DType type;
    if (!DTypeOfDescr(descr, &type) || type.code > TypeCode::kCLongDouble) {
      types.clear();
      break;
    }
    types.push_back(type);
  }
  PyErr_Clear();
  return types;
}

std::shared_ptr<const LoopTable> MakeTable(PyUFuncObject* ufunc) {
  auto table = std::make_shared<LoopTable>(ufunc->name, ufunc->nin, ufunc->nout);
  std::vector<int> loops;  // NumPy's index for each of our loops
  for (int i = 0; i < ufunc->ntypes; ++i) {
    LoopTable::Loop loop{ufunc->functions[i], ufunc->data ? ufunc->data[i] : nullptr, {}};
    bool numbers = loop.run != nullptr;
    for (int operand = 0; numbers && operand < ufunc->nargs; ++operand) {
      loop.types.push_back(TypeOfNumber(ufunc->types[i * ufunc->nargs + operand]));
      numbers = !loop.types.back().is_reference();
    }
    if (numbers) loops.push_back(table->Add(loop));
  }
  std::vector<PyRef> kinds;
  for (int kind = 0; kind < LoopTable::kKinds; ++kind) kinds.push_back(KindToPython(kind));
  PyRef resolve =
      PyRef::Steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(ufunc), "resolve_dtypes"));
  if (!resolve) throw Error(ErrorKind::kRuntime, "native: NumPy 2.0 or newer is needed");
  std::vector<int> inputs(static_cast<size_t>(ufunc->nin), 0);
  for (bool more = true; more;) {
    std::vector<DType> types = Resolve(resolve.get(), kinds, inputs, ufunc->nout);
    for (int loop : loops) {
      if (!types.empty() && table->types(loop) == types) {
        table->Serve(inputs, loop);
        break;
      }
    }
    more = false;
    for (int& kind : inputs) {
      if (++kind < LoopTable::kKinds) {
        more = true;
        break;
      }
      kind = 0;
    }
  }
  return table;
}

}  // namespace

std::shared_ptr<const LoopTable> LoopsOfUfunc(PyObject* object) {
  // A known ufunc is kept alive. Ufuncs created while a program runs are not all kept: the cache is
  // cleared when it is full.
  struct Known {
    PyRef ufunc;
    std::shared_ptr<const LoopTable> table;
  };
  using Table = std::unordered_map<PyObject*, Known>;
  constexpr size_t kMostKnown = 512;
  static auto& mutex = *new InsteadOfGil;
  static auto& known = *new Table;
  {
    std::lock_guard lock(mutex);
    auto found = known.find(object);
    if (found != known.end()) return found->second.table;
  }
  PyRef numpy = PyRef::Steal(PyImport_ImportModule("numpy"));
  PyRef type = numpy ? PyRef::Steal(PyObject_GetAttrString(numpy.get(), "ufunc")) : PyRef();
  if (!type) throw Error(ErrorKind::kRuntime, "native: numpy.ufunc is not there");
  if (!PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(type.get()))) {
    throw Error(ErrorKind::kType, "native: a NumPy ufunc was expected");
  }
  auto* ufunc = reinterpret_cast<PyUFuncObject*>(object);
  if (ufunc->core_enabled || ufunc->nin < 1 || ufunc->nout < 1 || ufunc->nargs > kMostOperands) {
    throw Error(
        ErrorKind::kType,
        "native: numpy.{} cannot be traced: only ufuncs can that take items one by one, of at "
        "most {} inputs and results together",
        std::string_view(ufunc->name), kMostOperands);
  }
  std::shared_ptr<const LoopTable> table = MakeTable(ufunc);
  Known entry{PyRef::Borrow(object), table};
  Table forgotten;  // destroyed after the lock
  std::lock_guard lock(mutex);
  if (known.size() >= kMostKnown) forgotten.swap(known);
  known.try_emplace(object, std::move(entry));
  return table;
}

}  // namespace penstock
