// Passes calls to the event loop, collects their results, and waits for one.
#include "python/coroutines.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "python/errors.h"
#include "python/gil.h"
#include "runtime/activity.h"
#include "runtime/event_count.h"
#include "runtime/wait.h"
#include "storage/file.h"

namespace penstock {
namespace {

constexpr const char* kCallName = "penstock.CoroutineCall";
constexpr const char* kTakenName = "penstock.Coroutines";

constinit thread_local bool g_runs_loop = false;

// The context variable of the call; set with the first coroutine, and never freed.
std::atomic<PyObject*> g_call_variable{nullptr};

template <class T>
T* InCapsule(PyObject* capsule, const char* name) {
  return static_cast<T*>(PyCapsule_GetPointer(capsule, name));
}

// Receives [(call, task), ...] on the loop's thread.
PyObject* TakeEnded(PyObject* self, PyObject* ended) {
  Attachment attachment(Attachment::Role::kLane);  // its KeyboardInterrupts are not signals
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(ended); ++i) {
    PyObject* pair = PyList_GET_ITEM(ended, i);
    PyObject* task = PyTuple_GET_ITEM(pair, 1);
    InCapsule<CoroutineCall>(PyTuple_GET_ITEM(pair, 0), kCallName)
        ->Ended(task == Py_None ? nullptr : task);
    attachment.Attach();
  }
  (*InCapsule<std::function<void()>>(self, kTakenName))();
  attachment.Attach();
  Py_RETURN_NONE;
}

PyMethodDef g_take_ended = {"take_ended", TakeEnded, METH_O, "Takes calls that have ended."};

PyRef Module() {
  PyRef module = PyRef::Steal(PyImport_ImportModule("penstock.coroutines"));
  if (!module) return {};
  if (!g_call_variable.load(std::memory_order_acquire)) {  // pairs with the release below
    PyObject* variable = PyObject_GetAttrString(module.get(), "CALL");
    if (!variable) return {};
    g_call_variable.store(variable, std::memory_order_release);
  }
  return module;
}

PyRef TakerOf(std::function<void()> taken) {
  auto kept = std::make_unique<std::function<void()>>(std::move(taken));
  PyRef capsule = PyRef::Steal(PyCapsule_New(kept.get(), kTakenName, [](PyObject* self) {
    delete InCapsule<std::function<void()>>(self, kTakenName);
  }));
  if (!capsule) return {};
  kept.release();
  return PyRef::Steal(PyCFunction_New(&g_take_ended, capsule.get()));
}

// Takes over the coroutine.
void AddTo(const PyRef& pairs, std::unique_ptr<CoroutineCall> call, PyRef coroutine) {
  PyRef capsule = PyRef::Steal(PyCapsule_New(call.get(), kCallName, [](PyObject* self) {
    delete InCapsule<CoroutineCall>(self, kCallName);
  }));
  if (capsule) call.release();
  PyRef pair = capsule ? PyRef::Steal(PyTuple_Pack(2, capsule.get(), coroutine.get())) : PyRef();
  if (!pair || PyList_Append(pairs.get(), pair.get()) < 0) {
    PyErr_Clear();
    throw std::bad_alloc();
  }
}

// A call that a thread waits for.
struct Waiting {
  PyRef task;  // null: it was cancelled
  std::atomic<bool> ended{false};
  EventCount event;
};

class WaitedCall final : public CoroutineCall {
 public:
  WaitedCall(const ElementRandom& random, std::shared_ptr<Waiting> waiting)
      : CoroutineCall(random), waiting_(std::move(waiting)) {}
  std::optional<SeenCoroutine> SeenBy(const Session*) const override {
    SeenCoroutine seen;
    seen.thread = thread_;
    return seen;
  }
  void Ended(PyObject* task) noexcept override {
    waiting_->task = PyRef::Borrow(task);
    waiting_->ended.store(true, std::memory_order_release);  // pairs with the acquire in WaitFor
    waiting_->event.NotifyAll();
  }

 private:
  const std::shared_ptr<Waiting> waiting_;
  const unsigned long thread_ = PyThread_get_thread_ident();  // the waiting thread
};

// Runs an awaitable and waits for its end, or until `cancel` is cancelled if that is not null.
PyObject* WaitFor(PyRef awaitable, const CancelToken* cancel) {
  Attachment& gil = EnsureAttached();
  if (!MayWait()) {
    CloseCoroutine(awaitable.get());
    return nullptr;
  }
  auto waiting = std::make_shared<Waiting>();
  std::optional<Coroutines> calls;
  try {
    calls.emplace([] {});
  } catch (const Error& error) {  // there is no loop
    CloseCoroutine(awaitable.get());
    RaisePython(error);
    return nullptr;
  }
  calls->Add(std::make_unique<WaitedCall>(CurrentElementRandom(), waiting), std::move(awaitable));
  if (!calls->Begin()) return nullptr;
  // acquire: pairs with the release in Ended.
  auto ended = [&] { return waiting->ended.load(std::memory_order_acquire); };
  WaitStatus status = WaitStatus::kReady;
  if (cancel) {
    const CancelToken::Watch watch(*cancel, waiting->event);
    const WaitsFor reason(Doing::kOngoing);
    status = WaitUntil(waiting->event, *cancel, ended);
    if (status != WaitStatus::kReady) {
      gil.Attach();
      calls->Cancel();
    } else if (!waiting->task) {  // the process is ending, and all runs with it
      status = WaitUntil(waiting->event, *cancel, [] { return false; });
    }
  }
  WaitUninterrupted(waiting->event, ended);
  gil.Attach();
  const PyRef task = std::move(waiting->task);
  if (status == WaitStatus::kInterrupted) {
    gil.RestoreInterrupt();
    return nullptr;
  }
  if (status != WaitStatus::kReady || !task) throw Error(ErrorKind::kCancelled, "");
  PyObject* result = PyObject_CallMethod(task.get(), "result", nullptr);
  if (!result) gil.NoteOfCoroutine();
  return result;
}

}  // namespace

void RunLoopHere() {
  g_runs_loop = true;
  if (Activity::Record* record = Activity::Mine()) {
    record->runs_ongoing.store(true, std::memory_order_relaxed);
  }
}

bool MayWait() {
  if (g_runs_loop) {
    PyErr_SetString(PyExc_RuntimeError,
                    "a coroutine cannot wait for the coroutines of a dataset without giving up the "
                    "event loop that they share; write async for instead of for");
  }
  return !g_runs_loop;
}

Coroutines::Coroutines(std::function<void()> taken) {
  PyRef module = Module();
  PyRef taker = module ? TakerOf(std::move(taken)) : PyRef();
  if (taker) {
    calls_ = PyRef::Steal(PyObject_CallMethod(module.get(), "Calls", "O", taker.get()));
  }
  if (calls_) adding_ = PyRef::Steal(PyList_New(0));
  if (!adding_) throw CurrentPythonError();
}

void Coroutines::Add(std::unique_ptr<CoroutineCall> call, PyRef coroutine) {
  AddTo(adding_, std::move(call), std::move(coroutine));
}

bool Coroutines::Begin() { return BeginAll(std::exchange(adding_, PyRef::Steal(PyList_New(0)))); }

bool Coroutines::Begin(std::unique_ptr<CoroutineCall> call, PyRef coroutine) const {
  const PyRef lone = PyRef::Steal(PyList_New(0));
  if (!lone) throw std::bad_alloc();
  AddTo(lone, std::move(call), std::move(coroutine));
  return BeginAll(lone);
}

bool Coroutines::BeginAll(const PyRef& pairs) const {
  if (PyList_GET_SIZE(pairs.get()) == 0) return true;
  PyRef begun = PyRef::Steal(PyObject_CallMethod(calls_.get(), "begin", "O", pairs.get()));
  if (begun) return true;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(pairs.get()); ++i) {
    CloseCoroutine(PyTuple_GET_ITEM(PyList_GET_ITEM(pairs.get(), i), 1));
  }
  return false;
}

void Coroutines::Cancel() {
  PyRef done = PyRef::Steal(PyObject_CallMethod(calls_.get(), "cancel", nullptr));
  PyErr_Clear();
}

std::vector<SeenCoroutine> CoroutinesOf(const Session* session) {
  std::vector<SeenCoroutine> found;
  if (!g_call_variable.load(std::memory_order_acquire)) return found;  // no coroutine yet
  const PyRef module = PyRef::Steal(PyImport_ImportModule("penstock.coroutines"));
  const PyRef all =
      PyRef::Steal(module ? PyObject_CallMethod(module.get(), "in_progress", nullptr) : nullptr);
  if (!all) throw CurrentPythonError();
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(all.get()); ++i) {
    PyObject* pair = PyList_GET_ITEM(all.get(), i);
    const auto* call = InCapsule<CoroutineCall>(PyTuple_GET_ITEM(pair, 1), kCallName);
    std::optional<SeenCoroutine> seen = call->SeenBy(session);
    if (!seen) continue;
    seen->task = PyRef::Borrow(PyTuple_GET_ITEM(pair, 0));
    found.push_back(*std::move(seen));
  }
  return found;
}

PyObject* Await(PyRef awaitable) {
  const CancelToken* cancel = ReadingFor::current().cancel;
  const CancelToken never;
  return WaitFor(std::move(awaitable), cancel ? cancel : &never);
}

void Finish(PyRef awaitable) {
  try {
    PyRef result = PyRef::Steal(WaitFor(std::move(awaitable), nullptr));
  } catch (const Error&) {  // the process is ending, and the loop with it
  }
  PyErr_Clear();
}

void CloseCoroutine(PyObject* coroutine) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyRef closed = PyRef::Steal(PyObject_CallMethod(coroutine, "close", nullptr));
  PyErr_Clear();
  PyErr_Restore(type, value, trace);
}

RandomKey OperationKey(std::optional<uint64_t> seed) {
  ElementRandom& current = CurrentElementRandom();
  PyObject* variable = g_call_variable.load(std::memory_order_acquire);  // pairs with Module
  PyObject* found = nullptr;
  const bool outside = !current.active && (seed || !current.scope);
  if (outside && variable && PyContextVar_Get(variable, nullptr, &found) < 0) PyErr_Clear();
  const PyRef capsule = PyRef::Steal(found);
  if (!capsule || !PyCapsule_IsValid(capsule.get(), kCallName)) return NextOperationKey(seed);
  auto* call = InCapsule<CoroutineCall>(capsule.get(), kCallName);
  std::lock_guard lock(call->mutex_);
  std::swap(current, call->random_);
  const RandomKey key = NextOperationKey(seed);
  std::swap(current, call->random_);
  return key;
}

}  // namespace penstock
