// Calls operations on NumPy values, with the GIL released inside, and builds programs of them.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <array>
#include <optional>

#include "compute/op_registry.h"
#include "compute/program/program.h"
#include "compute/reduce.h"
#include "python/bind.h"
#include "python/checked.h"
#include "python/coroutines.h"
#include "python/gil.h"
#include "python/py_function.h"
#include "python/pytree.h"
#include "python/types.h"
#include "python/ufuncs.h"
#include "python/whole.h"
#include "storage/crc32c.h"

namespace py = pybind11;

namespace penstock {
namespace {

// Below this many bytes of work, releasing the GIL costs more than it gains.
constexpr size_t kDetachFrom = 16 << 10;

struct SharedOp {
  std::shared_ptr<const Op> op;
  py::object key;  // identifies its arguments: equal keys mean equal operations
};

// Runs `call` without the GIL.
template <typename Call>
void Detached(const Call& call) {
  std::optional<Attachment> own;
  Attachment* gil = CurrentAttachment();
  if (!gil) gil = &own.emplace(Attachment::Role::kConsumer);
  gil->Detach();
  try {
    call();
  } catch (const Error& error) {
    gil->Attach();
    if (error.kind() != ErrorKind::kInterrupted) throw;
    gil->RestoreInterrupt();  // a Ctrl-C while the operation waited for a pipe
    throw py::error_already_set();
  } catch (...) {
    gil->Attach();
    throw;
  }
  gil->Attach();
}

Tensor TensorOf(PyObject* object, Sharing sharing) {
  Tensor tensor;
  if (!ToTensor(object, sharing, &tensor)) throw py::error_already_set();
  return tensor;
}

py::object ValueOf(Tensor tensor) {
  PyObject* value = ToPython(std::move(tensor));
  if (!value) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(value);
}

py::object CallWith(const Op& op, const py::list& inputs, std::optional<uint64_t> seed) {
  std::vector<Tensor> tensors;
  size_t bytes = 0;
  bool strings = false;
  for (auto input : inputs) {
    // The caller's list keeps the inputs alive until the call is over.
    tensors.push_back(TensorOf(input.ptr(), Sharing::kBorrow));
    bytes += tensors.back().footprint();
    strings = strings || tensors.back().dtype().is_reference();
  }
  RandomKey key;
  if (op.random()) key = OperationKey(seed);
  std::vector<Tensor> outputs;
  auto call = [&] { outputs = op.Call(tensors, key); };
  if (bytes < kDetachFrom && !op.waits() && !strings)
    call();
  else
    Detached(call);
  if (op.outputs() == 1) return ValueOf(std::move(outputs[0]));
  py::tuple values(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) values[i] = ValueOf(std::move(outputs[i]));
  return values;
}

py::object CallOp(const std::string& name, const py::list& inputs, const py::dict& attributes) {
  Args args = ArgsOfDict(name, attributes);
  std::unique_ptr<const Op> op = MakeOp(name, args);
  std::optional<uint64_t> seed;
  if (op->random() && args.Has("seed")) seed = static_cast<uint64_t>(args.Int("seed"));
  return CallWith(*op, inputs, seed);
}

SharedOp ReduceOf(const std::string& name, const py::object& ufunc, const py::object& divide,
                  const std::optional<std::vector<int64_t>>& axes, bool keepdims, bool of_scalars,
                  int type) {
  Reduction reduction{name,       LoopsOfUfunc(ufunc.ptr()),         nullptr, axes, keepdims,
                      of_scalars, static_cast<Reduction::Type>(type)};
  if (!divide.is_none()) reduction.divide = LoopsOfUfunc(divide.ptr());
  py::object key = py::make_tuple(name, ufunc, divide, axes, keepdims, of_scalars, type);
  return {MakeReduce(std::move(reduction)), std::move(key)};
}

SharedOp OpOfUfunc(const py::object& ufunc, const std::vector<int>& weak, bool of_scalars) {
  LoopsPtr table = LoopsOfUfunc(ufunc.ptr());
  std::vector<LoopTable::Weak> kinds;
  for (int kind : weak) kinds.push_back(static_cast<LoopTable::Weak>(kind));
  if (static_cast<int>(kinds.size()) != table->inputs()) {
    throw Error(ErrorKind::kType, "{}: {} operands were expected, got {}", table->name(),
                table->inputs(), kinds.size());
  }
  py::object key =
      py::make_tuple("numpy." + table->name(), ufunc, py::make_tuple(weak, of_scalars));
  return {MakeElementwise(std::move(table), std::move(kinds), of_scalars), std::move(key)};
}

SharedOp ClipOf(const std::array<py::object, 4>& ufuncs, std::optional<int> low,
                std::optional<int> high) {
  auto loops = [&](size_t i) { return LoopsOfUfunc(ufuncs[i].ptr()); };
  ClipLimits limits;
  if (low) limits.low = static_cast<LoopTable::Weak>(*low);
  if (high) limits.high = static_cast<LoopTable::Weak>(*high);
  py::object key = py::make_tuple("numpy.clip", ufuncs[0], py::make_tuple(low, high));
  return {MakeClip({loops(0), loops(1), loops(2), loops(3)}, limits), std::move(key)};
}

SharedOp PowerOf(const std::array<py::object, 4>& ufuncs, bool squares_bools,
                 const std::array<int, 2>& weak, const std::array<bool, 2>& stay_arrays) {
  auto loops = [&](size_t i) { return LoopsOfUfunc(ufuncs[i].ptr()); };
  py::object key = py::make_tuple("**", ufuncs[0], py::make_tuple(weak, stay_arrays));
  auto operand = [&](size_t i) {
    return PowerOperand{static_cast<LoopTable::Weak>(weak[i]), stay_arrays[i]};
  };
  return {
      MakePower({loops(0), loops(1), loops(2), loops(3), squares_bools}, operand(0), operand(1)),
      std::move(key)};
}

SharedOp AbsoluteOf(const py::object& ufunc) {
  py::object key = py::make_tuple("abs", ufunc, py::make_tuple());
  return {MakeAbsolute(LoopsOfUfunc(ufunc.ptr())), std::move(key)};
}

SharedOp InPlaceOf(const SharedOp& op, bool stays_array) {
  const std::string name = op.key.cast<py::tuple>()[0].cast<std::string>();
  return {MakeInPlace(op.op, name, stays_array),
          py::make_tuple(name + " in place", op.key, stays_array)};
}

StructureRef StructureOf(const py::object& nested) {
  Flattened flat;
  if (!Flatten(nested.ptr(), &flat)) throw py::error_already_set();
  return flat.structure;
}

std::vector<py::object> LeavesOf(const py::object& nested) {
  Flattened flat;
  if (!Flatten(nested.ptr(), &flat)) throw py::error_already_set();
  std::vector<py::object> leaves;
  for (PyObject* leaf : flat.leaves) leaves.push_back(py::reinterpret_borrow<py::object>(leaf));
  return leaves;
}

using StepOfPython = std::tuple<SharedOp, std::vector<int>, std::optional<int64_t>>;

// Only the nesting of `element` and `result` is used. Numbers mean the same as in ProgramPlan.
NativeFunction ProgramOf(const py::object& element, const py::list& constants,
                         const std::vector<StepOfPython>& steps, const py::object& result,
                         std::vector<int> results, FunctionPtr reader, bool exact) {
  ProgramPlan plan;
  plan.exact = exact;
  plan.element = StructureOf(element);
  for (auto constant : constants) {
    // Arrays are copies already; the caller ensures that they do not change.
    const Sharing sharing = py::isinstance<py::array>(constant) ? Sharing::kBorrow : Sharing::kCopy;
    plan.constants.push_back(TensorOf(constant.ptr(), sharing));
  }
  for (auto& [op, inputs, seed] : steps) {
    ProgramStep step{op.op, inputs, std::nullopt};
    if (seed) step.seed = static_cast<uint64_t>(*seed);
    plan.steps.push_back(std::move(step));
  }
  plan.result = StructureOf(result);
  plan.results = std::move(results);
  plan.reader = std::move(reader);
  return {{MakeProgram(std::move(plan))}};
}

NativeFunction CheckedOf(const NativeFunction& program, const py::object& plain, int64_t count,
                         const py::object& compare, const std::optional<NativeFunction>& exact) {
  FunctionPtr function = MakePyFunction(PyRef::Borrow(plain.ptr()), nullptr, {});
  return {{MakeChecked(program.function.usual, exact ? exact->function.usual : nullptr,
                       std::move(function), count, PyRef::Borrow(compare.ptr()))}};
}

uint32_t MaskedCrcOf(const py::buffer& buffer) {
  py::buffer_info bytes = buffer.request();
  if (!PyBuffer_IsContiguous(bytes.view(), 'C')) {
    throw Error(ErrorKind::kInvalidArgument, "masked_crc32c: contiguous bytes were expected");
  }
  return MaskedCrc(Crc32c(bytes.ptr, static_cast<size_t>(bytes.size * bytes.itemsize)));
}

SharedOp OpNamed(const std::string& name, const py::dict& attributes) {
  return {MakeOp(name, ArgsOfDict(name, attributes)), py::make_tuple(name, attributes)};
}

// Whether a text contains at least `count` consecutive digits.
bool HasDigits(const py::bytes& text, size_t count) {
  const std::string_view bytes(text);
  auto digit = [&](size_t i) { return bytes[i] >= '0' && bytes[i] <= '9'; };
  // Scans each window from its end, so that windows around a non-digit are skipped.
  for (size_t end = count; end <= bytes.size();) {
    size_t begin = end;
    while (begin > end - count && digit(begin - 1)) --begin;
    if (end - begin == count) return true;
    end = begin + count;
  }
  return false;
}

}  // namespace

void BindOp(py::module_& module) {
  py::class_<SharedOp> op(module, "Op", py::custom_type_setup(MadeWhole));
  DefInit(Noted(op), &OpNamed, py::arg("name"), py::arg("attributes"))
      .def_static("ufunc", &OpOfUfunc, py::arg("ufunc"), py::arg("weak"), py::arg("of_scalars"))
      .def_static("clip", &ClipOf, py::arg("ufuncs"), py::arg("low"), py::arg("high"))
      .def_static("absolute", &AbsoluteOf, py::arg("ufunc"))
      .def_static("power", &PowerOf, py::arg("ufuncs"), py::arg("squares_bools"), py::arg("weak"),
                  py::arg("stay_arrays"))
      .def_static("reduce", &ReduceOf, py::arg("name"), py::arg("ufunc"), py::arg("divide"),
                  py::arg("axes"), py::arg("keepdims"), py::arg("of_scalars"), py::arg("type"))
      .def("in_place", &InPlaceOf, py::arg("stays_array"))
      .def("__call__",
           [](const SharedOp& op, const py::list& inputs) {
             return CallWith(*op.op, inputs, std::nullopt);
           })
      .def_property_readonly("key", [](const SharedOp& op) { return op.key; })
      .def_property_readonly("fills", [](const SharedOp& op) { return op.op->fill() != nullptr; })
      .def_property_readonly("outputs", [](const SharedOp& op) { return op.op->outputs(); })
      .def_property_readonly("random", [](const SharedOp& op) { return op.op->random(); })
      .def_property_readonly("reduces", [](const SharedOp& op) {
        return op.op->regions() && op.op->regions()->reduces();
      });
  module.def("call_op", &CallOp, py::arg("name"), py::arg("inputs"), py::arg("attributes"));
  module.def("op_names", &OpNames);
  module.def("flatten", &LeavesOf, py::arg("nested"));
  module.def(
      "program",
      [](const py::object& element, const py::list& constants,
         const std::vector<StepOfPython>& steps, const py::object& result, std::vector<int> results,
         const std::optional<NativeFunction>& reader, bool exact) {
        return ProgramOf(element, constants, steps, result, std::move(results),
                         reader ? reader->function.usual : nullptr, exact);
      },
      py::arg("element"), py::arg("constants"), py::arg("steps"), py::arg("result"),
      py::arg("results"), py::arg("reader"), py::arg("exact"));
  module.def(
      "debugged",
      [](const NativeFunction& program, const py::object& plain) {
        FunctionPtr function = MakePyFunction(PyRef::Borrow(plain.ptr()), nullptr, {});
        return NativeFunction{{program.function.usual, std::move(function)}, plain.ptr()};
      },
      py::arg("program"), py::arg("plain"));
  module.def("checked", &CheckedOf, py::arg("program"), py::arg("plain"), py::arg("count"),
             py::arg("compare"), py::arg("exact"));
  module.def("same_nesting", [](const py::object& a, const py::object& b) {
    return StructureOf(a) == StructureOf(b);
  });
  module.def("masked_crc32c", &MaskedCrcOf);
  module.def("has_digits", &HasDigits);
}

}  // namespace penstock
