// Python's lane: real threading.Threads, cached, and how they end with the interpreter.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "python/errors.h"
#include "python/free_threads.h"
#include "python/gil.h"
#include "python/running_call.h"
#include "python/runs.h"
#include "runtime/clock.h"
#include "runtime/cpu.h"
#include "runtime/event_count.h"
#include "runtime/fork.h"
#include "runtime/memory.h"
#include "runtime/native_thread.h"
#include "runtime/platform.h"
#include "runtime/trace.h"
#include "runtime/wait.h"
#if defined(PENSTOCK_LINUX)
#include <sys/prctl.h>
#endif

namespace penstock {
namespace {

// Long enough for the next epoch to find its threads, short enough that a closed run soon has none.
constexpr int64_t kIdleNs = 500'000'000;
constexpr size_t kMostIdle = 64;
constexpr const char* kThreadName = "penstock";
// The time limits at exit: for functions that use no CPU, and for all functions.
constexpr int64_t kBlockedNs = 500'000'000;
constexpr int64_t kLongestExitNs = 10'000'000'000;

struct Job {
  const char* name;
  std::function<void()> body;
  uint64_t number;
};

struct Lanes {
  std::mutex mutex;           // a leaf lock; Python is never called while it is held
  std::deque<Job> jobs;       // each for one of the waiting threads
  std::vector<Job> starting;  // each for a new thread that is still starting, and may never run
  uint64_t numbers = 0;
  size_t waiting = 0;  // threads without a job
  int alive = 0;       // threads that may use Python
  int working = 0;     // lane threads among them: with a job, or waiting for one
  EventCount wake;     // signals a job, or the shutdown
  EventCount left;     // signals that a thread has ended
};

std::atomic<Lanes*> g_lanes{nullptr};
std::atomic<bool> g_shutdown{false};
std::atomic<unsigned long> g_exiting_thread{0};

Lanes& TheLanes() {
  Lanes* lanes = g_lanes.load(std::memory_order_acquire);
  if (lanes) return *lanes;
  auto* fresh = new Lanes;  // leaked: threads may outlive every other owner
  if (g_lanes.compare_exchange_strong(lanes, fresh, std::memory_order_acq_rel)) {
    static std::once_flag once;
    std::call_once(once, [] {
      OnForkChild([] {
        g_lanes.store(nullptr);
        ForgetWaiters();
      });
    });
    return *fresh;
  }
  delete fresh;
  return *lanes;
}

bool TakeJob(Lanes& lanes, Job* job) {
  if (lanes.jobs.empty()) return false;
  *job = std::move(lanes.jobs.front());
  lanes.jobs.pop_front();
  return true;
}

// Waits for a job, detached; false if the thread should end.
bool WaitForJob(Lanes& lanes, Job* job) {
  int64_t deadline = NowNs() + kIdleNs;
  {
    std::lock_guard lock(lanes.mutex);
    if (TakeJob(lanes, job)) return true;
    if (lanes.waiting >= kMostIdle) return false;
    ++lanes.waiting;
  }
  for (;;) {
    uint32_t key = lanes.wake.PrepareWait();
    {
      std::lock_guard lock(lanes.mutex);
      bool took = TakeJob(lanes, job);
      if (took || g_shutdown.load(std::memory_order_acquire) || NowNs() >= deadline) {
        --lanes.waiting;
        lanes.wake.CancelWait();
        return took;
      }
    }
    lanes.wake.Wait(key, deadline);
  }
}

// An escaping exception is a bug, and must not end the interpreter's thread midway.
void RunGuarded(Job& job) {
  try {
    job.body();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "penstock: thread body '%s' threw: %s\n", job.name, error.what());
  }
  job.body = nullptr;
}

// The job that a thread was started for, unless it was withdrawn. Needs the mutex.
std::optional<Job> JobOfNewThread(Lanes& lanes, uint64_t number) {
  for (auto job = lanes.starting.begin(); job != lanes.starting.end(); ++job) {
    if (job->number != number) continue;
    std::optional<Job> own = std::move(*job);
    lanes.starting.erase(job);
    return own;
  }
  return std::nullopt;
}

// Throws the error for a failed start: the system refused a thread, or something else failed.
[[noreturn]] void ThrowRefusal() {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  const bool refused = type == PyExc_RuntimeError;
  PyErr_Restore(type, value, trace);
  if (!refused) throw CurrentPythonError();
  PyErr_Clear();
  throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again),
                          "no thread of Python can be started");
}

// While one exists, Python threads get a stack large enough for deep pipelines, if their default is
// not. The size applies to all threads of the interpreter: threads started meanwhile by other code
// get it too, and a size that other code sets meanwhile is kept. Attached; several threads may have
// one.
class EnoughStack final {
 public:
  EnoughStack() {
    std::lock_guard lock(mutex_);
    ++open_;
    const size_t set = PyThread_get_stacksize();
    if (set == kWanted || (set == 0 ? UsualIsEnough() : set > kWanted)) return;
    if (PyThread_set_stacksize(kWanted) == 0) of_user_ = set;
  }
  ~EnoughStack() {
    std::lock_guard lock(mutex_);
    if (--open_ > 0 || !of_user_) return;
    if (PyThread_get_stacksize() == kWanted) PyThread_set_stacksize(*of_user_);
    of_user_.reset();
  }
  EnoughStack(const EnoughStack&) = delete;
  EnoughStack& operator=(const EnoughStack&) = delete;

 private:
  static constexpr auto kWanted = static_cast<size_t>(kThreadStack);
  static bool UsualIsEnough() {
#if defined(__APPLE__)
    return true;  // Python requests 16 MB there
#else
    return UsualThreadStack() >= kThreadStack;
#endif
  }
  static inline InsteadOfGil mutex_;
  static inline int open_ = 0;
  static inline std::optional<size_t> of_user_;  // the user's size, if not the current one
};

// Daemon threads: other threads are joined before atexit, while consumers may still need these.
PyRef StartThread(uint64_t number) {
  PyRef core = PyRef::Steal(PyImport_ImportModule("penstock._core"));
  PyRef target = core ? PyRef::Steal(PyObject_GetAttrString(core.get(), "lane_main")) : PyRef();
  PyRef threading = target ? PyRef::Steal(PyImport_ImportModule("threading")) : PyRef();
  PyRef type =
      threading ? PyRef::Steal(PyObject_GetAttrString(threading.get(), "Thread")) : PyRef();
  PyRef kwargs = type ? PyRef::Steal(Py_BuildValue("{s:O,s:(K),s:s,s:O}", "target", target.get(),
                                                   "args", static_cast<unsigned long long>(number),
                                                   "name", kThreadName, "daemon", Py_True))
                      : PyRef();
  PyRef none = kwargs ? PyRef::Steal(PyTuple_New(0)) : PyRef();
  const EnoughStack stack;
  PyRef thread = none ? PyRef::Steal(PyObject_Call(type.get(), none.get(), kwargs.get())) : PyRef();
  return thread ? PyRef::Steal(PyObject_CallMethod(thread.get(), "start", nullptr)) : PyRef();
}

}  // namespace

PyObject* LaneMain(PyObject*, PyObject* number) {
  const unsigned long long started_for = PyLong_AsUnsignedLongLong(number);
  if (PyErr_Occurred()) return nullptr;
#if defined(PENSTOCK_LINUX)
  prctl(PR_SET_TIMERSLACK, 1000UL);  // the gap between bursts is 30 us; the default slack is 50
#endif
  Lanes& lanes = TheLanes();
  RunningCall::Thread thread;
  std::optional<Job> own;
  {
    // Shutdown also checks under the mutex: either it waits for this thread, or this job never
    // begins.
    std::lock_guard lock(lanes.mutex);
    if (ShuttingDown()) Py_RETURN_NONE;
    own = JobOfNewThread(lanes, started_for);
    ++lanes.alive;
    ++lanes.working;
  }
  {
    Attachment attachment(Attachment::Role::kLane);
    attachment.Detach();
    RunningCall::SetThread(&thread);
    Job job;
    if (own) job = *std::move(own);
    while (job.body || WaitForJob(lanes, &job)) {
      Trace::SetThreadName(job.name);
      RunGuarded(job);
      attachment.Detach();
    }
    RunningCall::SetThread(nullptr);
    bool last;
    {
      std::lock_guard lock(lanes.mutex);
      last = --lanes.working == 0;
    }
    if (last && !ShuttingDown()) TrimFreedMemory();  // memory freed by functions, mostly arrays
  }
  {
    std::lock_guard lock(lanes.mutex);
    --lanes.alive;
  }
  lanes.left.NotifyAll();
  Py_RETURN_NONE;
}

void SpawnLaneThread(const char* name, std::function<void()> body) {
  EnsureAttached();
  if (ShuttingDown()) {
    throw Error(ErrorKind::kRuntime, "{}: no thread can be started, because Python is exiting",
                std::string_view(name));
  }
  Lanes& lanes = TheLanes();
  uint64_t number;
  bool grow;
  {
    std::lock_guard lock(lanes.mutex);
    number = lanes.numbers++;
    grow = lanes.jobs.size() >= lanes.waiting;
    Job job{name, std::move(body), number};
    if (grow) {
      lanes.starting.push_back(std::move(job));
    } else {
      lanes.jobs.push_back(std::move(job));
    }
  }
  if (!grow) {
    lanes.wake.NotifyAll();
    return;
  }
  if (StartThread(number)) return;
  // A Ctrl-C inside start() does not reveal whether a thread was started.
  bool interrupted = CurrentAttachment()->TakeInterrupt();
  std::optional<Job> withdrawn;
  {
    std::lock_guard lock(lanes.mutex);
    withdrawn = JobOfNewThread(lanes, number);
  }
  if (!withdrawn) {
    PyErr_Clear();
    return;  // the body runs; the interrupt is raised when the consumer returns
  }
  if (interrupted) throw Error(ErrorKind::kInterrupted, "");
  ThrowRefusal();
}

namespace {

thread_local bool t_using_python = false;

// Whether this thread may use Python; Shutdown then waits until it has left.
bool Join(Lanes& lanes) {
  std::lock_guard lock(lanes.mutex);
  if (ShuttingDown()) return false;
  ++lanes.alive;
  return true;
}

}  // namespace

UsingPython::UsingPython() : may_(Join(TheLanes())) {
  t_using_python = may_;
  if (may_) state_ = PyGILState_Ensure();
}

UsingPython::~UsingPython() {
  if (!may_) return;
  t_using_python = false;
  PyGILState_Release(state_);
  Lanes& lanes = TheLanes();
  {
    std::lock_guard lock(lanes.mutex);
    --lanes.alive;
  }
  lanes.left.NotifyAll();
}

bool ShuttingDown() { return g_shutdown.load(std::memory_order_acquire); }

bool MustPark() {
  return ShuttingDown() && !t_using_python &&
         PyThread_get_thread_ident() != g_exiting_thread.load(std::memory_order_relaxed);
}

void Park() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

void ParkIfExiting() {
  if (!MustPark()) return;
  PyEval_SaveThread();
  Park();
}

namespace {

#if defined(Py_GIL_DISABLED)
// Waits briefly for threads that are entering or leaving LaneMain. Python ends a daemon thread
// where it would attach after finalization has begun. If that thread has just received the lock for
// stopping all others, which a profiler or the collector needs, the lock is never released, and the
// interpreter waits for it. False, with an error set, if interrupted.
bool JoinThreads() {
  PyRef threading = PyRef::Steal(PyImport_ImportModule("threading"));
  PyRef all = PyRef::Steal(threading ? PyObject_CallMethod(threading.get(), "enumerate", nullptr)
                                     : nullptr);
  all = PyRef::Steal(all ? PySequence_Tuple(all.get()) : nullptr);
  for (Py_ssize_t i = 0; all && i < PyTuple_GET_SIZE(all.get()); ++i) {
    PyObject* thread = PyTuple_GET_ITEM(all.get(), i);
    PyRef name = PyRef::Steal(PyObject_GetAttrString(thread, "name"));
    if (!name || !PyUnicode_Check(name.get()) ||
        PyUnicode_CompareWithASCIIString(name.get(), kThreadName) != 0) {
      continue;
    }
    const PyRef ended =
        PyRef::Steal(CallPython([&] { return PyObject_CallMethod(thread, "join", "d", 1.0); }));
    if (!ended && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) return false;
    PyErr_Clear();  // this thread itself, or one whose start was interrupted
  }
  PyErr_Clear();
  return true;
}
#else
bool JoinThreads() { return true; }
#endif

}  // namespace

namespace {

// Waits until no engine thread may use Python. kTimeout: some are inside functions that do not
// return. Functions that use CPU get more time, because the process then tears down the libraries
// that they are running in.
WaitStatus AwaitLanes(Lanes& lanes) {
  const auto ended = [&lanes] {
    std::lock_guard lock(lanes.mutex);
    return lanes.alive == 0;
  };
  const int64_t last = NowNs() + kLongestExitNs;
  for (;;) {
    const int64_t cpu = ProcessCpuNs();
    const int64_t until = std::min(last, NowNs() + kBlockedNs);
    const WaitStatus status = WaitUntil(lanes.left, CancelToken(), until, ended);
    const bool blocked = ProcessCpuNs() - cpu < kBlockedNs / 10;
    if (status != WaitStatus::kTimeout || blocked || NowNs() >= last) return status;
  }
}

}  // namespace

// Abandons threads that are still inside user functions, as Python abandons daemon threads. Once
// those functions return, the threads never call Python again: see Attachment::Attach and
// CallPython.
bool Shutdown() {
  if (ShuttingDown()) return true;
  g_exiting_thread.store(PyThread_get_thread_ident(), std::memory_order_relaxed);
  // release: pairs with the acquire in WaitForJob.
  g_shutdown.store(true, std::memory_order_release);
  CancelAllRuns();
  Lanes& lanes = TheLanes();
  lanes.wake.NotifyAll();
  Attachment attachment(Attachment::Role::kConsumer);
  const WaitStatus status = AwaitLanes(lanes);
  attachment.Attach();
  LeakReferences();
  if (status == WaitStatus::kReady) return JoinThreads();
  if (status == WaitStatus::kTimeout) return true;
  attachment.RestoreInterrupt();
  return false;
}

void InstallExitHook() {
  static std::atomic<bool> installed{false};
  if (installed.load(std::memory_order_acquire)) return;  // pairs with the release below
  PyRef core = PyRef::Steal(PyImport_ImportModule("penstock._core"));
  PyRef hook = core ? PyRef::Steal(PyObject_GetAttrString(core.get(), "shutdown")) : PyRef();
  PyRef atexit = PyRef::Steal(PyImport_ImportModule("atexit"));
  PyRef done;
  if (hook && atexit) {
    done = PyRef::Steal(PyObject_CallMethod(atexit.get(), "register", "O", hook.get()));
  }
  if (!done) throw CurrentPythonError();  // threads that outlive the interpreter would crash
  installed.store(true, std::memory_order_release);  // registering twice is harmless
}

}  // namespace penstock
