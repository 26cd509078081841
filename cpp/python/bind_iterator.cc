// The Python iterator, except its tp_iternext slot, the hot path (iter_next.cc).
#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/elastic.h"
#include "engine/observation.h"
#include "engine/out_of_memory.h"
#include "engine/session.h"
#include "engine/state_frame.h"
#include "python/bind.h"
#include "python/errors.h"
#include "python/gil.h"
#include "python/iter.h"
#include "python/made_rows.h"
#include "python/pytree.h"
#include "python/shown_refs.h"
#include "python/types.h"
#include "python/whole.h"
#include "runtime/clock.h"

namespace py = pybind11;

namespace penstock {
namespace {

// All iterators, for fork children: elements that are ready in them belong to the parent, which
// continues to deliver them.
struct LiveIterators {
  std::mutex mutex;  // a leaf lock
  std::unordered_set<Iter*> iterators;
};
LiveIterators& Live() {
  static auto& live = *[] {
    auto* made = new LiveIterators;
    HoldAcrossFork(made->mutex);
    OnForkChild([] {
      for (Iter* it : Live().iterators) {
        it->scalars_left = 0;
        if (it->run) it->run->row = it->run->block.rows;
      }
    });
    return made;
  }();
  return live;
}

int64_t Undelivered(const Iter* it) {
  const Run& run = *it->run;
  int64_t rows = it->scalars_left > 0 ? it->scalars_left : run.block.rows - run.row;
  return rows + (run.block.error && !run.block.error->transient());
}

// Waits for the threads of a cancelled run and destroys it. If a signal handler raises during the
// wait, returns the exception; a user function is then still running.
std::optional<py::error_already_set> CloseNow(std::shared_ptr<Session>& session, ObjectLock& lock) {
  Attachment attachment(Attachment::Role::kConsumer);
  WaitStatus status = WaitStatus::kReady;
  {
    const ObjectLock::Released released(lock, attachment);
    if (session->has_threads()) {
      attachment.Detach();
      status = session->AwaitThreads();
    }
    if (status == WaitStatus::kReady) {
      session->Close();
      session.reset();
    }
  }
  if (status == WaitStatus::kReady) return std::nullopt;
  attachment.RestoreInterrupt();
  return py::error_already_set();
}

void CloseRun(Iter* it, bool wait, ObjectLock& lock) {
  Run& run = *it->run;
  // If another thread is inside, for a block, the number is known only when that thread has left.
  int64_t undelivered = run.busy ? -1 : Undelivered(it);
  run.closed = true;
  it->scalars_left = 0;
  if (run.session) run.session->Cancel();         // ends the wait of a thread that is inside
  if (run.fork_generation != ForkGeneration()) {  // leaked in a fork child
    new std::shared_ptr<Session>(std::move(run.session));
    return;
  }
  // Do not wait when called from inside the run's own function, which would wait for itself; nor
  // while a stall is reported, because the handler may hold a lock that the waiting thread needs;
  // nor after Shutdown, because its threads may never end.
  bool inside = FromInside(run) || StallWatch::Telling() || ShuttingDown();
  if (run.busy && (inside || !wait)) return;
  if (inside) {
    wait = false;
    run.busy = true;
    run.owner = PyThread_get_thread_ident();
  } else {
    Enter(run, "close");
  }
  if (undelivered < 0) undelivered = Undelivered(it);
  // Close the current session: another thread may have restored the run while this one waited.
  run.closed = true;
  it->scalars_left = 0;
  run.row = 0;
  Block block = std::exchange(run.block, Block());
  std::shared_ptr<Session> session = std::exchange(run.session, nullptr);
  std::optional<py::error_already_set> interrupt;
  if (session) {
    run.closed_position = run.position_before + session->position() - undelivered;
    session->Cancel();
    if (wait) interrupt = CloseNow(session, lock);
    if (session) Retire(std::move(session), PyRef::Borrow(run.dataset.get()));
  }
  Leave(run);
  if (interrupt) throw *std::move(interrupt);
}

int IterTraverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  auto* it = reinterpret_cast<Iter*>(self);
  if (!it->run) return 0;
  Py_VISIT(it->run->dataset.get());
  Py_VISIT(it->run->on_end.get());
  return it->run->session ? ShownRefs::Traverse(*it->run->session, visit, arg) : 0;
}

// Called before the collector clears anything: threads of the run may be calling functions that
// belong to the garbage. While the run is closing it holds its dataset, which keeps them alive. The
// collector therefore resurrects all of it, and finds it again when nothing runs any more.
void IterFinalize(PyObject* self) {
  auto* it = reinterpret_cast<Iter*>(self);
  if (!it->run) return;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  try {
    ObjectLock lock(self);
    CloseRun(it, false, lock);
    if (it->run->fork_generation == ForkGeneration()) SayEnd(*it->run);
    if (PyErr_Occurred()) PyErr_WriteUnraisable(nullptr);
  } catch (const std::exception&) {
    PyErr_Clear();
  }
  PyErr_Restore(type, value, trace);
}

int IterClear(PyObject* self) {
  auto* it = reinterpret_cast<Iter*>(self);
  if (it->run) {
    it->run->dataset = PyRef();
    it->run->on_end = PyRef();
  }
  return 0;
}

void IterDealloc(PyObject* self) {
  auto* it = reinterpret_cast<Iter*>(self);
  PyObject_GC_UnTrack(self);
  IterFinalize(self);
  {
    LiveIterators& live = Live();
    std::lock_guard lock(live.mutex);
    live.iterators.erase(it);
  }
  delete it->run;
  it->reuse[0].~PyRef();
  it->reuse[1].~PyRef();
  PyTypeObject* cls = Py_TYPE(self);
  cls->tp_free(self);
  Py_DECREF(cls);
}

PyObject* IterNew(PyTypeObject* cls, PyObject*, PyObject*) {
  auto* it = reinterpret_cast<Iter*>(cls->tp_alloc(cls, 0));
  if (!it) return nullptr;
  new (&it->reuse[0]) PyRef;
  new (&it->reuse[1]) PyRef;
  try {
    LiveIterators& live = Live();
    std::lock_guard lock(live.mutex);
    live.iterators.insert(it);
  } catch (const std::bad_alloc&) {
    Py_DECREF(it);
    return PyErr_NoMemory();
  }
  return reinterpret_cast<PyObject*>(it);
}

// A method of the iterator, called with its lock.
template <typename Call>
PyObject* Guarded(PyObject* self, Call call) {
  try {
    ObjectLock lock(self);
    return py::object(call(lock)).release().ptr();
  } catch (const Error& error) {
    RaisePython(error);
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

// Does work that may wait or start threads, while other threads may use the object. Throws an
// exception that a signal handler raised meanwhile.
template <class Work>
void DoReleased(ObjectLock& lock, Work work) {
  Attachment attachment(Attachment::Role::kConsumer);
  bool interrupted = false;
  try {
    const ObjectLock::Released released(lock, attachment);
    work();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInterrupted) throw;
    interrupted = true;
  }
  if (!interrupted && !attachment.interrupted()) return;
  attachment.RestoreInterrupt();
  throw py::error_already_set();
}

Run& RunOf(PyObject* self) {
  Run* run = reinterpret_cast<Iter*>(self)->run;
  if (!run) throw NotMade();
  return *run;
}

int64_t NsOf(const py::handle& seconds) {
  return static_cast<int64_t>(seconds.cast<double>() * 1e9);
}

// Converts the result of Options._for_engine.
RunOptions OptionsOf(const py::dict& dict) {
  RunOptions options;
  options.deterministic = dict["deterministic"].cast<bool>();
  options.threads = dict["threads"].cast<int64_t>();
  options.memory_limit = dict["memory_limit"].cast<int64_t>();
  options.counts_all = dict["counts_all"].cast<bool>();
  options.debug = dict["debug"].cast<bool>();
  if (!TextToBytes(dict["name"].cast<py::str>().ptr(), &options.name))
    throw py::error_already_set();
  options.tunes = dict["tunes"].cast<bool>();
  options.cpu_budget = dict["cpu_budget"].cast<int64_t>();
  options.first_calls = dict["first_calls"].cast<int64_t>();
  options.least_calls = dict["least_calls"].cast<int64_t>();
  options.counted = dict["counted"].cast<bool>();
  options.executor = ExecutorOf(dict["executor"].cast<std::string>());
  options.slow_ns = NsOf(dict["slow_element_seconds"]);
  options.stall_ns = NsOf(dict["stall_seconds"]);
  if (dict.contains("place")) {
    const auto place = dict["place"].cast<std::string>();
    StateVisitor visitor{std::string_view(place)};
    options.place.Visit(visitor);
    visitor.ExpectEnd();
  }
  return options;
}

// Takes the dataset and its options.
int IterInit(PyObject* self, PyObject* args, PyObject* kwargs) {
  PyObject* done = Guarded(self, [&](ObjectLock& lock) -> py::object {
    auto* it = reinterpret_cast<Iter*>(self);
    // Threads may be inside the run that it already has.
    if (it->run) {
      throw Error(ErrorKind::kType,
                  "iterator: __init__ was called before; make another one with iter(dataset)");
    }
    PyObject *dataset, *options;
    if (kwargs && PyDict_GET_SIZE(kwargs) > 0) {
      throw Error(ErrorKind::kType, "iterator: no keyword arguments were expected");
    }
    if (!PyArg_ParseTuple(args, "OO!:Iterator", &dataset, &PyDict_Type, &options)) {
      throw py::error_already_set();
    }
    DatasetPtr plan = DatasetOfPython(dataset);
    if (!plan) {
      throw Error(ErrorKind::kType,
                  "iterator: dataset must be a Dataset, got {}; use iter(dataset)",
                  std::string_view(Py_TYPE(dataset)->tp_name));
    }
    auto made = std::make_unique<Run>();
    Run* run = made.get();
    run->dataset = PyRef::Borrow(dataset);
    run->plan = std::move(plan);
    auto dict = py::reinterpret_borrow<py::dict>(options);
    run->options = OptionsOf(dict);
    run->identity = RunIdentity::Next(*run->plan, run->options.counted);
    it->run = made.release();
    if (dict["warm_start"].cast<bool>()) {
      const Entered entered(*run, "iter");
      Begin(*run);
      DoReleased(lock, [&] { run->session->Warm(); });
    }
    return py::none();
  });
  Py_XDECREF(done);
  return done ? 0 : -1;
}

std::string_view BytesOf(PyObject* object) {
  char* data;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(object, &data, &size) < 0) throw py::error_already_set();
  return {data, static_cast<size_t>(size)};
}

PyObject* GetState(PyObject* self, PyObject* account) {
  return Guarded(self, [&](ObjectLock& lock) -> py::object {
    Run& run = RunOf(self);
    CheckUsable(run, "get_state");
    std::string about(BytesOf(account));
    std::string state;
    {
      const Entered entered(run, "get_state");
      if (run.closed) throw Error(ErrorKind::kInvalidArgument, "get_state: the iterator is closed");
      const bool ended = run.block.error && EndsRun(*run.block.error);
      if (ended && !GoesOn(run)) {
        throw Error(ErrorKind::kMemory, "get_state: {}", run.block.error->message());
      }
      Begin(run);
      const int64_t undelivered = Undelivered(reinterpret_cast<Iter*>(self));
      run.session->SetUndelivered(ended && undelivered == 0 ? kOfThePast : undelivered);
      DoReleased(lock, [&] { state = run.session->GetState(std::move(about)); });
    }
    return py::bytes(state);
  });
}

PyObject* SetState(PyObject* self, PyObject* state) {
  return Guarded(self, [&](ObjectLock& lock) -> py::object {
    Run& run = RunOf(self);
    CheckUsable(run, "set_state");
    std::string_view saved = BytesOf(state);
    // Restoring may call functions, and a failure stops threads. Must be created before the
    // session: a session that fails is destroyed within the attachment's scope.
    Attachment attachment(Attachment::Role::kConsumer);
    std::shared_ptr<Session> session = MakeSession(run);
    try {
      const ObjectLock::Released released(lock, attachment);
      session->SetState(saved);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInterrupted) throw;
      attachment.RestoreInterrupt();
      throw py::error_already_set();
    }
    InstallExitHook();
    RegisterRun(session);
    auto* it = reinterpret_cast<Iter*>(self);
    Block passed;  // destroyed after Entered ends: objects in it may call Python
    {
      const Entered entered(run, "set_state");
      session.swap(run.session);
      passed = std::exchange(run.block, Block());
      it->scalars_left = 0;
      run.row = 0;
      run.ask = Grain::AsWanted();
      run.closed = false;
      run.restored = true;
      run.position_before = 0;
      run.told_shortage = false;
    }
    if (session) Retire(std::move(session), PyRef::Borrow(run.dataset.get()));
    return py::none();
  });
}

// Skips `pass` steps and makes `count` more: rows for another process or thread. `who`: the name of
// this one in the notes of errors.
PyObject* Make(PyObject* self, PyObject* args) {
  return Guarded(self, [&](ObjectLock& lock) -> py::object {
    Run& run = RunOf(self);
    CheckUsable(run, "make");
    long long pass, count;
    int sound;
    const char* who;
    if (!PyArg_ParseTuple(args, "LpLs:_make", &pass, &sound, &count, &who))
      throw py::error_already_set();
    const Entered entered(run, "make");
    if (run.closed) throw Error(ErrorKind::kInvalidArgument, "make: the iterator is closed");
    Begin(run);
    auto made = std::make_shared<MadeRows>();
    DoReleased(lock, [&] { *made = MakeRows(*run.session, pass, sound != 0, count); });
    if (made->failed()) {
      Error& error = *made->blocks.back().error;
      if (error.transient())
        throw Error(ErrorKind::kInvalidArgument, "make: the iterator is closed");
      error.Note(std::string("distribute: ") + who);
    }
    return py::cast(made);
  });
}

// Returns (elements delivered or None, whether counting began at a restored state, whether closed,
// whether a thread is inside).
PyObject* Position(PyObject* self, PyObject*) {
  return Guarded(self, [&](ObjectLock&) -> py::object {
    const Run& run = RunOf(self);
    py::object delivered = py::none();  // another thread is inside for something else
    if (run.busy) {
      if (run.fetch_began_ns) delivered = py::int_(run.fetch_position);
    } else if (run.session) {
      const int64_t undelivered = Undelivered(reinterpret_cast<Iter*>(self));
      delivered = py::int_(PositionOf(run) - undelivered);
    } else {
      delivered = py::int_(run.closed_position);
    }
    return py::make_tuple(delivered, run.restored, run.closed, run.busy);
  });
}

PyObject* Close(PyObject* self, PyObject*) {
  return Guarded(self, [&](ObjectLock& lock) -> py::object {
    RunOf(self);
    CloseRun(reinterpret_cast<Iter*>(self), true, lock);
    return py::none();
  });
}

PyObject* Ready(PyObject* self, PyObject*) {
  return Guarded(self,
                 [&](ObjectLock&) { return py::bool_(IsReady(reinterpret_cast<Iter*>(self))); });
}

PyObject* FetchNext(PyObject* self, PyObject*) {
  return Guarded(self, [&](ObjectLock& lock) -> py::object {
    MakeReady(reinterpret_cast<Iter*>(self), lock);
    return py::none();
  });
}

// Sets a callback that is called once, after the last element or when the iterator is dropped; see
// SayEnd.
PyObject* OnEnd(PyObject* self, PyObject* call) {
  return Guarded(self, [&](ObjectLock&) -> py::object {
    PyRef before = std::exchange(RunOf(self).on_end, PyRef::Borrow(call));
    return py::none();
  });
}

// The seconds that the consumer has spent waiting for elements, or producing them.
PyObject* FetchingSeconds(PyObject* self, PyObject*) {
  return Guarded(self, [&](ObjectLock&) -> py::object {
    const Run& run = RunOf(self);
    const int64_t now = run.fetch_began_ns ? NowNs() - run.fetch_began_ns : 0;
    return py::float_(static_cast<double>(run.fetching_ns + now) * 1e-9);
  });
}

// Whether the system has refused a thread; elements that should be made ahead may then wait for
// next().
PyObject* ShortOfThreads(PyObject* self, PyObject*) {
  return Guarded(self, [&](ObjectLock&) -> py::object {
    const std::shared_ptr<Session> session = RunOf(self).session;  // another thread may replace it
    return py::bool_(session && session->short_of_threads());
  });
}

PyObject* Stats(PyObject* self, PyObject*) {
  return Guarded(self, [&](ObjectLock&) {
    const std::shared_ptr<Session> session = RunOf(self).session;  // another thread may replace it
    return StatsOf(session.get());
  });
}

// Returns the stages in which a state differs from the plan, the account saved in it, and the
// resized stages.
PyObject* CompareState(PyObject* self, PyObject* state) {
  return Guarded(self, [&](ObjectLock&) -> py::object {
    Run& run = RunOf(self);
    StateFrame frame = StateFrame::Open(BytesOf(state));
    const ElasticPlan plan(*run.plan);
    const bool begun = SharedPosition::Of(frame.shared).begun();
    const std::string difference = plan.Refusal(frame.plan, begun);
    py::list sized;  // lines of the plan for stages whose numbers may have changed
    if (difference.empty() && frame.plan != plan.text()) {
      for (auto& [stage, line] : plan.sized()) sized.append(line);
    }
    return py::make_tuple(difference, py::bytes(frame.account), sized);
  });
}

PyObject* Moves(PyObject* self, PyObject*) {
  return Guarded(self, [&](ObjectLock&) {
    const std::shared_ptr<Session> session = RunOf(self).session;
    return MovesOf(session.get());
  });
}

// Records observations of the run from now on, until it is stopped.
PyObject* Observe(PyObject* self, PyObject*) {
  return Guarded(self, [&](ObjectLock&) -> py::object {
    Run& run = RunOf(self);
    CheckUsable(run, "profile");
    const Entered entered(run, "profile");
    if (run.closed) throw Error(ErrorKind::kInvalidArgument, "profile: the iterator is closed");
    Begin(run);
    Attachment attachment(Attachment::Role::kConsumer);
    return py::cast(std::make_unique<Observation>(run.session->shared_stats(), true));
  });
}

PyMethodDef g_methods[] = {
    {"_save_state", GetState, METH_O, "The position as bytes, beside the account of the plan."},
    {"set_state", SetState, METH_O, "Continues from bytes of get_state."},
    {"_compare_state", CompareState, METH_O, "A state beside the plan."},
    {"close", Close, METH_NOARGS, "Stops all threads of the run."},
    {"_observe", Observe, METH_NOARGS, "Begins to watch the run."},
    {"_ready", Ready, METH_NOARGS, "Whether next() would not wait."},
    {"_fetch", FetchNext, METH_NOARGS, "Waits until next() would not."},
    {"_make", Make, METH_VARARGS, "Passes over elements that others make, and makes the next."},
    {"_position", Position, METH_NOARGS, "How far it is, for repr."},
    {"_on_end", OnEnd, METH_O, "Has something called at the end, once."},
    {"_fetching_seconds", FetchingSeconds, METH_NOARGS, "What the consumer was inside for."},
    {"_short_of_threads", ShortOfThreads, METH_NOARGS, "Whether one was refused."},
    {"_stage_stats", Stats, METH_NOARGS, "Counters of every stage."},
    {"_tuning_moves", Moves, METH_NOARGS, "What AUTOTUNE changed, and why."},
    {nullptr, nullptr, 0, nullptr}};

PyType_Slot g_slots[] = {{Py_tp_new, reinterpret_cast<void*>(IterNew)},
                         {Py_tp_init, reinterpret_cast<void*>(IterInit)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(IterDealloc)},
                         {Py_tp_finalize, reinterpret_cast<void*>(IterFinalize)},
                         {Py_tp_traverse, reinterpret_cast<void*>(IterTraverse)},
                         {Py_tp_clear, reinterpret_cast<void*>(IterClear)},
                         {Py_tp_iter, reinterpret_cast<void*>(PyObject_SelfIter)},
                         {Py_tp_iternext, reinterpret_cast<void*>(IterNext)},
                         {Py_tp_methods, g_methods},
                         {0, nullptr}};
PyType_Spec g_spec = {"penstock._core.Iterator", sizeof(Iter), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, g_slots};

}  // namespace

void BindIterator(py::module_& module) {
  PyObject* type = PyType_FromSpec(&g_spec);
  if (!type) throw py::error_already_set();
  module.add_object("Iterator", type);
  py::class_<Observation> observed(module, "Observation", py::custom_type_setup(MadeWhole));
  Noted(observed).def("stop", [](Observation& observation) -> py::dict {
    Observed seen;
    {
      Attachment attachment(Attachment::Role::kConsumer);
      seen = observation.Stop();
    }
    return ObservedToPython(seen);
  });
}

}  // namespace penstock
