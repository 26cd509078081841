// The extension module: a handful of Bind calls.
#include "compute/image/jpeg_self_test.h"
#include "compute/image/jpeg_version.h"
#include "compute/image/png_version.h"
#include "compute/strings/regex_version.h"
#include "data/key_scope.h"
#include "data/random.h"
#include "python/bind.h"
#include "python/coroutines.h"
#include "python/errors.h"
#include "python/foreign_runtime.h"
#include "python/gil.h"
#include "python/made_rows.h"
#include "python/pytree.h"
#include "python/running_call.h"
#include "python/types.h"
#include "python/whole.h"
#include "runtime/blocking.h"
#include "runtime/cpu.h"
#include "runtime/fork.h"
#include "runtime/hand_over.h"
#include "runtime/instruction_set.h"
#include "runtime/memory.h"
#include "runtime/parking.h"
#include "runtime/thread_pool.h"
#include "runtime/trace.h"
#include "storage/chunk/chunk_codec.h"
#include "storage/decompressor.h"
#include "storage/saved_folder.h"

namespace py = pybind11;
using namespace py::literals;

namespace penstock {
namespace {

#if defined(__clang__)
constexpr const char* kCompiler = "Clang " __clang_version__;
#elif defined(__GNUC__)
constexpr const char* kCompiler = "GCC " __VERSION__;
#else
constexpr const char* kCompiler = "unknown";
#endif

py::dict BuildInfo() {
  std::string jpeg = JpegVersion();
  std::string png = PngVersion();
  std::string zlib = ZlibVersion();
  std::string zstd = ZstdVersion();
  std::string re2 = RegexVersion();
  return py::dict("version"_a = PENSTOCK_VERSION, "compiler"_a = kCompiler,
                  "cxx_standard"_a = static_cast<int64_t>(__cplusplus),
                  "instructions"_a = NameOf(ChosenInstructionSet()),
                  "jpeg"_a = py::dict("native"_a = !jpeg.empty(), "version"_a = jpeg,
                                      "own_parts"_a = OwnJpegPartsWork()),
                  "png"_a = py::dict("native"_a = !png.empty(), "version"_a = png),
                  "zlib"_a = py::dict("native"_a = !zlib.empty(), "version"_a = zlib),
                  "zstd"_a = py::dict("native"_a = !zstd.empty(), "version"_a = zstd),
                  "re2"_a = py::dict("native"_a = !re2.empty(), "version"_a = re2));
}

py::dict CpuInfo() {
  py::module_ os = py::module_::import("os");
  py::object affinity = py::hasattr(os, "sched_getaffinity")
                            ? py::object(py::int_(py::len(os.attr("sched_getaffinity")(0))))
                            : py::object(os.attr("cpu_count")());
  return py::dict("affinity"_a = affinity, "quota"_a = CgroupQuota(), "effective"_a = CpuCount());
}

py::list InstructionSets() {
  py::list names;
  for (InstructionSet set : AvailableInstructionSets()) names.append(NameOf(set));
  return names;
}

py::dict MemoryInfo() {
  return py::dict("available"_a = AvailableMemory(), "cgroup"_a = CgroupHeadroom());
}

PyMethodDef g_lane_main = {"lane_main", LaneMain, METH_O, "The body of a lane thread."};

// Calls an object on a thread of Python's lane; the object handles its own errors.
void CallOnLane(const py::object& call) {
  InstallExitHook();
  Attachment attachment(Attachment::Role::kConsumer);
  const std::shared_ptr<void> called = ToForeign(PyRef::Borrow(call.ptr()));
  SpawnLaneThread("a call of a coroutine", [called] {
    EnsureAttached();
    const PyRef result = PyRef::Steal(PyObject_CallNoArgs(static_cast<PyObject*>(called.get())));
    if (!result) PyErr_WriteUnraisable(static_cast<PyObject*>(called.get()));
  });
  attachment.Attach();
}

// Functions that belong to the process, not to one run.
void BindProcess(py::module_& module) {
  module.add_object("lane_main", PyCFunction_New(&g_lane_main, nullptr));
  module.def("run_loop_here", &RunLoopHere);
  module.def("start_thread", &CallOnLane, py::arg("call"), py::pos_only());
  module.def("shutdown", [] {
    if (!Shutdown()) throw py::error_already_set();
  });
  module.def(
      "trace_start", [](size_t events) { Trace::Start(events); }, py::arg("events_per_thread"));
  module.def("trace_stop", &Trace::StopJson);
  module.attr("MANIFEST_NAME") = kManifestName;
  module.def(
      "saved_shards",
      [](const py::str& folder) {
        std::string path;
        if (!TextToBytes(folder.ptr(), &path)) throw py::error_already_set();
        ScopedBlockingHook none(nullptr);  // keeps the GIL, also when called from inside the engine
        return Manifest::Read(path, "load").shards.size();
      },
      py::arg("folder"));
  module.def("set_seed", &SetGlobalSeed);
  py::class_<KeyScope> scope(module, "KeyScope", py::custom_type_setup(MadeWhole));
  DefInit(
      Noted(scope), +[](uint64_t seed) { return KeyScope(seed); }, py::arg("seed"))
      .def("enter", &KeyScope::Enter)
      .def("exit", &KeyScope::Exit);
  module.def("clear_seed", &ClearGlobalSeed);
  module.def("global_seed", []() -> py::object {
    const SeedSequence seeds = CurrentSeeds();
    if (!seeds.given) return py::none();
    return py::int_(seeds.seed);
  });
  module.def(
      "build_info", &BuildInfo,
      "Return version, compiler, C++ standard and codecs of this build, and the instructions "
      "it uses.");
  module.def("instruction_sets", &InstructionSets);
  module.def("use_instructions",
             [](const std::string& name) { SetInstructionSet(InstructionSetNamed(name)); });
  module.def("cpu_info", &CpuInfo);
  module.def(
      "set_parking_patience",
      [](double seconds) { SetParkingPatience(static_cast<MonoTime>(seconds * 1e9)); },
      py::arg("seconds"), "For how long a thread waits for room before it ends.");
  module.def(
      "change_sides", &HandOver::ChangeEvery, py::arg("takes"),
      "After how many takes the input of a prefetch goes to the other thread; 0: as it pays.");
  module.def("memory_info", &MemoryInfo);
  module.def("structure_count", &Structure::count,
             "How many structures of elements are kept in this process.");
}

}  // namespace
}  // namespace penstock

// The entry point is at the end of this file. The entry point of pybind11 begins by acquiring the
// GIL for the main interpreter, so a subinterpreter would wait for itself.
#undef PYBIND11_PLUGIN_IMPL
#define PYBIND11_PLUGIN_IMPL(name) static PyObject* InitByPybind()

PYBIND11_MODULE(_core, m, py::mod_gil_not_used()) {
  using namespace penstock;
  // NumPy's C API is loaded here, on the importing thread: loading it first on a worker can
  // deadlock.
  if (!ImportNumPy()) throw py::error_already_set();
  ChosenInstructionSet();  // reports an invalid PENSTOCK_CPU at import
  InitTypes();
  if (!InitArrays()) throw py::error_already_set();
  InitPytree();
  InitForeignRuntime();
  ThreadPool::SetPythonSpawner(&SpawnLaneThread);
  OnForkChild(&Attachment::AfterForkInChild);
  py::register_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const Error& error) {
      // An exception raised by a signal handler is already set.
      if (error.kind() == ErrorKind::kInterrupted && PyErr_Occurred()) return;
      RaisePython(error);
    }
  });
  BindDataset(m);
  BindMadeRows(m);
  BindIterator(m);
  BindModel(m);
  BindOp(m);
  BindParcels(m);
  BindRemote(m);
  BindState(m);
  BindTensorOperators(m);
  BindWorkers(m);
  BindZstd(m);
  BindProcess(m);
}

extern "C" PYBIND11_EXPORT PyObject* PyInit__core();
extern "C" PYBIND11_EXPORT PyObject* PyInit__core() {
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
    PyErr_SetString(
        PyExc_ImportError,
        "penstock: a subinterpreter cannot use it, as threads of the engine call Python "
        "in the main interpreter; import it there, or in a process of its own");
    return nullptr;
  }
  return InitByPybind();
}
