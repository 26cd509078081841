// __next__: returns an element that is ready, and fetches the next block if there is none.
#include <algorithm>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/out_of_memory.h"
#include "python/bind.h"
#include "python/coroutines.h"
#include "python/errors.h"
#include "python/gil.h"
#include "python/iter.h"
#include "python/pytree.h"
#include "python/types.h"
#include "runtime/clock.h"

namespace py = pybind11;

namespace penstock {
namespace {

constexpr size_t kFewLeaves = 8;

// One row that is not a ready scalar. New reference.
PyObject* EmitRow(Run& run) {
  Block& block = run.block;
  int64_t row = run.row++;
  bool stacked = block.stacked();
  size_t count = stacked ? block.columns.size() : block.elements[row].leaves.size();
  // Copied, and locals are used below: creating the value may run Python code, and with it other
  // threads that enter this function.
  const StructureRef structure = stacked ? block.structure : block.elements[row].structure;
  PyObject* few[kFewLeaves];
  std::vector<PyObject*> many(count > kFewLeaves ? count : 0);
  PyObject** leaves = count > kFewLeaves ? many.data() : few;
  for (size_t i = 0; i < count; ++i) {
    leaves[i] = stacked ? RowToPython(block.columns[i].items, row, i < run.own.size() && run.own[i])
                        : ToPython(std::move(block.elements[row].leaves[i]));
    if (!leaves[i]) {
      for (size_t j = 0; j < i; ++j) Py_DECREF(leaves[j]);
      return nullptr;
    }
  }
  return Unflatten(structure, leaves);
}

// Shows the warnings of stages; false, with an error set, if the user turned warnings into errors.
bool ShowWarnings(Session& session) {
  for (const std::string& text : session.TakeWarnings()) {
    if (PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), 1) < 0) return false;
  }
  return true;
}

// Passes new log entries to penstock/log.py; false with an error set, as ShowWarnings.
bool WriteLog(Session& session, bool end) {
  const std::vector<LogEntry> log = session.TakeLog(end);
  if (log.empty() || !session.options().counted) return true;
  PyRef module = PyRef::Steal(PyImport_ImportModule("penstock.log"));
  for (size_t i = 0; module && i < log.size(); ++i) {
    const PyRef text = PyRef::Steal(StringToPython(DType::Of(TypeCode::kText), log[i].text));
    const PyRef done =
        PyRef::Steal(text ? PyObject_CallMethod(module.get(), log[i].warning ? "warn" : "inform",
                                                "O", text.get())
                          : nullptr);
    if (!done) return false;
  }
  return static_cast<bool>(module);
}

void TakeBlock(Run& run, Block&& block) {
  run.block = std::move(block);
  run.row = 0;
  run.own = run.block.own_columns();
}

// Fetches the next block. Attached afterwards. False with a Python error set.
bool Fetch(Iter* it, ObjectLock& lock) {
  Run& run = *it->run;
  TakeBlock(run, Block());  // its memory may be needed for the next one
  Attachment attachment(Attachment::Role::kConsumer);
  bool quiet = run.plan->quiet() && !run.session->unordered() && !run.options.debug;
  const int64_t start = NowNs();
  run.fetch_began_ns = start;
  run.fetch_position = PositionOf(run);
  const StallWatch::Wait wait(run.stall, *run.session, start);
  const RunningCall::Consuming consuming(run.consumer, *run.session);
  int64_t took = 0;
  auto pull = [&] {
    const ObjectLock::Released released(lock, attachment);
    Block pulled = run.session->NextBlock(run.ask.rows());
    for (;;) {
      // The interrupt was already raised, after the rows before it: resume.
      if (pulled.error && pulled.error->kind() == ErrorKind::kInterrupted) pulled.error.reset();
      if (pulled.rows > 0 || pulled.last() || attachment.interrupted()) break;
      pulled = run.session->NextBlock(run.ask.rows());
    }
    took = NowNs() - start;
    return pulled;
  };
  Block block = pull();
  run.fetching_ns += took;
  run.fetch_began_ns = 0;
  if (attachment.interrupted()) {  // keep the fetched rows for the next call
    TakeBlock(run, std::move(block));
    attachment.RestoreInterrupt();
    return false;
  }
  if (quiet) run.ask.Learn(block.rows, took);
  TakeBlock(run, std::move(block));
  if (run.session->has_warnings() && !ShowWarnings(*run.session)) return false;
  const bool counts = run.session->slow().limit_ns() > 0 && run.block.end;
  if ((counts || run.session->has_log()) && !WriteLog(*run.session, run.block.end)) return false;
  if (run.block.rows > 1 && run.block.stacked() && run.block.columns.size() == 1 &&
      run.block.structure == Structure::Leaf()) {
    const Tensor& column = run.block.columns[0].items;
    bool strings = column.storage() == Storage::kPacked;
    if (column.shape().rank() == 1 && (strings || !column.dtype().is_reference())) {
      it->scalars_left = run.block.rows;
      it->strings = strings ? &column : nullptr;
      it->scalar = strings ? nullptr : column.data();
      it->dtype = column.dtype();
      run.row = run.block.rows;
    }
  }
  return true;
}

inline PyObject* TakeScalar(Iter* it) {
  if (it->strings) {
    const Tensor& column = *it->strings;
    return StringToPython(it->dtype, column.string(column.shape()[0] - it->scalars_left--));
  }
  const uint8_t* value = it->scalar;
  it->scalar += it->dtype.itemsize;
  --it->scalars_left;
  it->flip ^= 1;
  return MakeScalar(it->dtype, value, &it->reuse[it->flip]);
}

// Fetches if nothing is ready. False with a Python error set.
bool FetchOnce(Iter* it, ObjectLock& lock) {
  Run& run = *it->run;
  CheckUsable(run, "next");
  if (run.plan->suspends() && !MayWait()) return false;
  const Entered entered(run, "next");
  // Another thread may have fetched while this one waited to enter.
  if (IsReady(it)) return true;
  Begin(run);
  return Fetch(it, lock);
}

// Rebuilds the stages of a run that ran out of memory, from the state after the last complete step.
void GoOn(Iter* it, ObjectLock& lock) {
  Run& run = *it->run;
  CheckUsable(run, "next");
  std::shared_ptr<Session> session;
  Block passed;  // destroyed after Entered ends: objects in it may call Python
  {
    const Entered entered(run, "next");
    // Another thread may have rebuilt them while this one waited to enter.
    if (run.closed || !run.block.error || !EndsRun(*run.block.error)) return;
    Attachment attachment(Attachment::Role::kConsumer);
    std::shared_ptr<Session> fresh = MakeSession(run);
    try {
      const ObjectLock::Released released(lock, attachment);
      run.session->SetUndelivered(kOfThePast);
      fresh->SetState(run.session->GetState(""));
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kMemory) throw std::bad_alloc();
      if (error.kind() != ErrorKind::kInterrupted) throw;
      attachment.RestoreInterrupt();
      throw py::error_already_set();
    }
    RegisterRun(fresh);
    run.position_before = PositionOf(run);
    session = std::exchange(run.session, std::move(fresh));
    passed = std::exchange(run.block, Block());
    it->scalars_left = 0;
    run.row = 0;
    run.ask = Grain::AsWanted();
    run.told_shortage = false;
  }
  Retire(std::move(session), PyRef::Borrow(run.dataset.get()));
}

// The error of a run that ran out of memory.
Error Shortage(Run& run) {
  run.told_shortage = true;
  const std::string& text = run.block.error->message();
  if (!GoesOn(run)) return Error(ErrorKind::kMemory, "{}", text);
  return Error(ErrorKind::kMemory, "{}; the next call continues after the last element",
               std::string_view(text).substr(0, text.find(';')));
}

PyObject* NextSlow(Iter* it, ObjectLock& lock) {
  if (!it->run) throw NotMade();
  Run& run = *it->run;
  for (;;) {
    if (run.row < run.block.rows) return EmitRow(run);
    if (run.block.error) {
      CheckUsable(run, "next");
      if (EndsRun(*run.block.error) && !run.closed) {  // kept until the stages are rebuilt
        if (!run.told_shortage || !GoesOn(run)) throw Shortage(run);
        GoOn(it, lock);
        continue;
      }
      Error error = *std::move(run.block.error);
      run.block = Block();
      run.row = 0;
      if (error.kind() == ErrorKind::kCancelled) {
        if (run.closed) return nullptr;
        ParkIfExiting();
        throw Error(ErrorKind::kRuntime, "next: the run was stopped, because Python is exiting");
      }
      if (!run.options.name.empty()) error.Note("dataset: " + run.options.name);
      RaisePython(error);
      return nullptr;
    }
    if (run.block.end || run.closed) {
      SayEnd(run);
      return nullptr;
    }
    if (!FetchOnce(it, lock)) return nullptr;
    if (it->scalars_left > 0) return TakeScalar(it);
  }
}

}  // namespace

bool GoesOn(const Run& run) {
  if (run.session->unordered()) return false;
  bool same = true;
  run.plan->ForEachNode([&](const Dataset& node) {
    same = same && node.kind() != "from_generator";  // may continue where another stopped
  });
  return same;
}

void SayEnd(Run& run) {
  const PyRef on_end = std::exchange(run.on_end, PyRef());
  if (!on_end) return;
  const int64_t delivered = run.session ? PositionOf(run) : run.closed_position;
  Py_XDECREF(PyObject_CallFunction(on_end.get(), "Ld", static_cast<long long>(delivered),
                                   static_cast<double>(run.fetching_ns) * 1e-9));
}

bool IsReady(const Iter* it) {
  if (it->scalars_left > 0) return true;
  if (!it->run) throw NotMade();
  const Run& run = *it->run;
  return run.row < run.block.rows || run.block.last() || run.closed;
}

void MakeReady(Iter* it, ObjectLock& lock) {
  while (!IsReady(it)) {
    if (!FetchOnce(it, lock)) throw py::error_already_set();
  }
}

PyObject* IterNext(PyObject* self) {
  auto* it = reinterpret_cast<Iter*>(self);
  ObjectLock lock(self);
  if (it->scalars_left > 0) return TakeScalar(it);
  try {
    return NextSlow(it, lock);
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

}  // namespace penstock
