// Operations called on NumPy values, with the GIL released inside.
#include <pybind11/stl.h>

#include <optional>

#include "pipeline/crc32c.h"
#include "pipeline/registry.h"
#include "python/bind.h"
#include "python/gil.h"
#include "python/types.h"

namespace py = pybind11;

namespace penstock {
namespace {

// Below this many bytes of work giving up the GIL costs more than it gives.
constexpr size_t kDetachFrom = 16 << 10;

py::object CallOp(const std::string& name, const py::list& inputs, const py::dict& attributes) {
  Args args = ArgsOfDict(name, attributes);
  std::unique_ptr<const Op> op = MakeOp(name, args);
  std::vector<Tensor> tensors(inputs.size());
  size_t bytes = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    // The caller's list keeps the inputs alive until the call is over.
    if (!ToTensor(PyList_GET_ITEM(inputs.ptr(), static_cast<Py_ssize_t>(i)), Sharing::kBorrow,
                  &tensors[i])) {
      throw py::error_already_set();
    }
    bytes += tensors[i].footprint();
  }
  RandomKey key;
  if (op->random()) {
    std::optional<uint64_t> seed;
    if (args.Has("seed")) seed = static_cast<uint64_t>(args.Int("seed"));
    key = NextOperationKey(seed);
  }
  Tensor out;
  auto run = [&] {
    LeafSpec spec = op->Output(tensors);
    if (!spec.dtype.is_reference()) out = Tensor::Make(spec.dtype, spec.shape);
    op->Run(tensors, out, key);
  };
  bool file = name == "io.read_file";
  bool strings = !tensors.empty() && tensors[0].dtype().is_reference();
  if (bytes < kDetachFrom && !file && !strings) {
    run();
  } else {
    std::optional<Attachment> own;
    Attachment* gil = CurrentAttachment();
    if (!gil) gil = &own.emplace(Attachment::Role::kConsumer);
    gil->Detach();
    try {
      run();
    } catch (const Error& error) {
      gil->Attach();
      if (error.kind() != ErrorKind::kInterrupted) throw;
      gil->RestoreInterrupt();  // a Ctrl-C while it waited for a pipe
      throw py::error_already_set();
    } catch (...) {
      gil->Attach();
      throw;
    }
    gil->Attach();
  }
  PyObject* result = ToPython(std::move(out));
  if (!result) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(result);
}

uint32_t MaskedCrcOf(const py::buffer& buffer) {
  py::buffer_info bytes = buffer.request();
  if (!PyBuffer_IsContiguous(bytes.view(), 'C')) {
    throw Error(ErrorKind::kInvalidArgument, "masked_crc32c: contiguous bytes were expected");
  }
  return MaskedCrc(Crc32c(bytes.ptr, static_cast<size_t>(bytes.size * bytes.itemsize)));
}

}  // namespace

void BindOp(py::module_& module) {
  module.def("call_op", &CallOp, py::arg("name"), py::arg("inputs"), py::arg("attributes"));
  module.def("op_names", &OpNames);
  module.def("masked_crc32c", &MaskedCrcOf);
}

}  // namespace penstock
