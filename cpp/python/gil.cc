// Attaching, detaching and the list of deferred decrefs.
#include "python/gil.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <new>
#include <thread>

#include "data/error.h"
#include "python/stall_watch.h"
#include "runtime/activity.h"
#include "runtime/clock.h"
#include "runtime/platform.h"
#include "runtime/thread_pool.h"

namespace penstock {
namespace {

// Measured: with bursts of 0.3 ms and gaps of 30 us, a Python training loop keeps at least four
// fifths of its share. Shorter gaps starve it; shorter bursts slow the lane.
constexpr int64_t kBurstNs = 300'000;
constexpr int64_t kGapNs = 30'000;
// Reading the clock costs as much as a small call: about every 20 us is enough.
constexpr int64_t kClockNs = 20'000;

#if defined(Py_GIL_DISABLED)
constexpr bool kGil = false;  // threads run Python concurrently and do not wait for each other
#else
constexpr bool kGil = true;
#endif

thread_local Attachment* t_attachment = nullptr;
// Consumers that need the GIL back after a wait. Lanes yield to them.
std::atomic<int> g_wanting{0};
std::atomic<int> g_lanes_wanting{0};  // lane threads that are acquiring it, or in the gap before
// Threads that run Python only through the engine: lanes, and detached consumers inside it.
std::atomic<int> g_lane_threads{0};
std::atomic<int> g_consumers_apart{0};
std::atomic<bool> g_dead{false};  // Python must not be called any more

// References for the next holder of the GIL to release: one object, or the `count` objects that
// follow this header in memory from NewReferences. Dropping must not allocate: it happens where
// nothing may throw.
struct Dropped {
  Dropped* next = nullptr;
  PyObject* object = nullptr;
  size_t count = 0;
  void (*call)(void*) = nullptr;  // or a call, with its data
  void* data = nullptr;

  PyObject** items() { return reinterpret_cast<PyObject**>(this + 1); }
  static Dropped* Of(PyObject** items) { return reinterpret_cast<Dropped*>(items) - 1; }
};
std::atomic<Dropped*> g_dropped{nullptr};

// For single objects when no memory can be allocated.
constexpr size_t kReserved = 64;
Dropped g_reserve[kReserved];
std::atomic<uint64_t> g_free{~uint64_t{0}};  // one bit per node

// Null if all are in use.
Dropped* NewDropped() {
  if (auto* node = new (std::nothrow) Dropped) return node;
  uint64_t free = g_free.load(std::memory_order_relaxed);
  while (free) {
    // acquire: pairs with the release in FreeDropped.
    if (g_free.compare_exchange_weak(free, free & (free - 1), std::memory_order_acquire,
                                     std::memory_order_relaxed)) {
      return &g_reserve[std::countr_zero(free)];
    }
  }
  return nullptr;
}

void FreeDropped(Dropped* node) {
  if (node < g_reserve || node >= g_reserve + kReserved) {
    delete node;
    return;
  }
  *node = Dropped();
  g_free.fetch_or(uint64_t{1} << (node - g_reserve), std::memory_order_release);
}

int DrainPending(void*) {
  DrainDecrefs();
  return 0;
}

void Push(Dropped* node) {
  Dropped* head = g_dropped.load(std::memory_order_relaxed);
  do {
    node->next = head;
    // release: pairs with the acquire exchange in DrainDecrefs.
  } while (!g_dropped.compare_exchange_weak(head, node, std::memory_order_release,
                                            std::memory_order_relaxed));
  // The first entry asks the main thread to release the list, in case no thread iterates any more.
  if (head == nullptr) Py_AddPendingCall(DrainPending, nullptr);
}

// With the GIL: whether some thread might want it. Threads that wait in the engine need no gap:
// they announce that they want the GIL.
bool OthersMayRun() {
  if (g_wanting.load(std::memory_order_relaxed) > 0) return true;
  int threads = 0;
  for (PyThreadState* thread = PyInterpreterState_ThreadHead(PyInterpreterState_Get()); thread;
       thread = PyThreadState_Next(thread)) {
    ++threads;
  }
  return threads > g_lane_threads.load(std::memory_order_relaxed) +
                       g_consumers_apart.load(std::memory_order_relaxed);
}

// The raised exception, which stays raised.
PyRef Raised() {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  PyRef raised = PyRef::Borrow(value);
  PyErr_Restore(type, value, trace);
  return raised;
}

void SleepFor(int64_t ns) {
#if defined(PENSTOCK_POSIX)
  std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
#else
  // Elsewhere, timers may be as coarse as 15 ms, the length of five hundred gaps.
  for (int64_t end = NowNs() + ns; NowNs() < end;) std::this_thread::yield();
#endif
}

}  // namespace

PyRef::~PyRef() {
  if (object_) DeferredDecref(object_);
}

std::shared_ptr<void> ToForeign(PyRef object) {
  return {object.release(), [](void* p) { DeferredDecref(static_cast<PyObject*>(p)); }};
}

Attachment::Attachment(Role role)
    : role_(role),
      thread_(PyThreadState_Get()),
      outer_hook_(GetBlockingHook()),
      outer_(t_attachment),
      on_lane_(role == Role::kLane || (outer_ && outer_->on_lane_)),
      attached_at_(role == Role::kLane ? NowNs() : 0) {
  SetBlockingHook(this);
  t_attachment = this;
  if (role == Role::kLane) g_lane_threads.fetch_add(1, std::memory_order_relaxed);
}

Attachment::~Attachment() {
  Attach();
  if (role_ == Role::kLane) g_lane_threads.fetch_sub(1, std::memory_order_relaxed);
  SetBlockingHook(outer_hook_);
  t_attachment = outer_;
}

void Attachment::Attach() {
  if (attached_) return;
  if (on_lane_ ? g_dead.load(std::memory_order_relaxed) : MustPark()) Park();
  if (role_ == Role::kLane) {
    g_lanes_wanting.fetch_add(1, std::memory_order_relaxed);
    int64_t apart = gap_ ? NowNs() - detached_at_ : kGapNs;
    if (apart < kGapNs) SleepFor(kGapNs - apart);
    {
      const Does waits(Doing::kLock);
      CallPython([this] { PyEval_RestoreThread(thread_); });
    }
    g_lanes_wanting.fetch_sub(1, std::memory_order_relaxed);
    attached_at_ = last_clock_ = NowNs();
  } else {
    g_wanting.fetch_add(1, std::memory_order_relaxed);
    {
      const Does waits(Doing::kLock);
      CallPython([this] { PyEval_RestoreThread(thread_); });
    }
    g_wanting.fetch_sub(1, std::memory_order_relaxed);
    if (!on_lane_) g_consumers_apart.fetch_sub(1, std::memory_order_relaxed);
  }
  attached_ = true;
  if (g_dropped.load(std::memory_order_relaxed)) DrainDecrefs();
}

bool TakeGil() {
  // A free GIL is acquired within this time, however busy the machine is.
  constexpr int64_t kFreeNs = 10'000;
  const bool wanted = g_lanes_wanting.load(std::memory_order_relaxed) > 0;
  const int64_t asked = NowNs();
  EnsureAttached();
  return NowNs() - asked > kFreeNs || wanted;
}

void Attachment::Detach() {
  if (!attached_) return;
  if (role_ == Role::kLane) {
    EndIfForked();
    gap_ = kGil && OthersMayRun();
  } else if (!on_lane_) {
    g_consumers_apart.fetch_add(1, std::memory_order_relaxed);
  }
  StallWatch::Mind();
  PyEval_SaveThread();
  attached_ = false;
  if (gap_) detached_at_ = NowNs();
}

void Attachment::Yield() {
  if (role_ != Role::kLane || !attached_) return;
  bool wanted = kGil && g_wanting.load(std::memory_order_relaxed) > 0;
  if (!wanted && --calls_until_clock_ > 0) return;
  EndIfForked();
  int64_t now = NowNs();
  int64_t per_call = (now - last_clock_) / calls_per_clock_ + 1;
  last_clock_ = now;
  calls_per_clock_ = static_cast<int>(std::clamp<int64_t>(kClockNs / per_call, 1, 256));
  calls_until_clock_ = calls_per_clock_;
  // Also without a GIL: a thread that stops all others, such as the collector, waits for this one.
  if (wanted || (now - attached_at_ > kBurstNs && (!kGil || OthersMayRun()))) {
    Detach();
    Attach();
  }
}

bool Attachment::Interrupted() {
  if (role_ == Role::kLane) return false;
  if (interrupt_) return true;
  Attach();
  if (PyErr_CheckSignals() == 0) {
    Detach();
    return false;
  }
  KeepInterrupt();
  return true;
}

bool Attachment::Replaceable() {
  Attach();
  PyObject* kept = PyThreadState_GetDict();  // the values of all threading.local objects
  return !kept || PyDict_GET_SIZE(kept) == 0;
}

bool Attachment::TakeInterrupt() {
  EndIfForked();
  if (forked_) {
    KeepInterrupt();
    return true;
  }
  if (on_lane_ || !PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) return false;
  if (of_coroutine_ && Raised().get() == of_coroutine_.get()) return false;
  KeepInterrupt();
  return true;
}

void Attachment::NoteOfCoroutine() {
  if (!on_lane_ && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) of_coroutine_ = Raised();
}

void Attachment::KeepInterrupt() {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace) PyException_SetTraceback(value, trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  interrupt_ = PyRef::Steal(value);
}

void Attachment::RestoreInterrupt() {
  PyObject* value = interrupt_.release();
  if (!value) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    return;
  }
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(value)), value);
  Py_DECREF(value);
}

void Attachment::AfterForkInChild() {
  for (Attachment* open = t_attachment; open; open = open->outer_) {
    open->forked_ = true;
    open->calls_until_clock_ = 0;  // so that Yield checks `forked_`
  }
}

Attachment* CurrentAttachment() { return t_attachment; }

Attachment& EnsureAttached() {
  if (!t_attachment) throw Error(ErrorKind::kRuntime, "a native thread tried to call Python");
  t_attachment->Attach();
  return *t_attachment;
}

bool HoldsGil() {
  if (t_attachment) return t_attachment->attached();
  if (ThreadPool::InPool()) return false;
  return PyGILState_Check();
}

void DeferredDecref(PyObject* object) {
  if (g_dead.load(std::memory_order_relaxed)) return;  // leaked on purpose
  if (HoldsGil()) {
    CallPython([object] { Py_DECREF(object); });
    return;
  }
  // If even the reserve is exhausted, the reference leaks, which is better than ending the process.
  if (Dropped* node = NewDropped()) {
    node->object = object;
    Push(node);
  }
}

PyObject** NewReferences(size_t count) {
  void* memory = std::malloc(sizeof(Dropped) + count * sizeof(PyObject*));
  if (!memory) throw std::bad_alloc();
  PyObject** items = (new (memory) Dropped)->items();
  std::fill(items, items + count, nullptr);
  return items;
}

void DeferredDecrefAll(PyObject** objects, size_t count) {
  if (!objects || g_dead.load(std::memory_order_relaxed)) return;
  Dropped* node = Dropped::Of(objects);
  if (HoldsGil()) {
    CallPython([objects, count] {
      for (size_t i = 0; i < count; ++i) Py_XDECREF(objects[i]);
    });
    std::free(node);
    return;
  }
  node->count = count;
  Push(node);
}

void DeferredCall(void (*call)(void*), void* data) {
  if (g_dead.load(std::memory_order_relaxed)) return;
  if (HoldsGil()) {
    CallPython([call, data] { call(data); });
    return;
  }
  if (Dropped* node = NewDropped()) {
    node->call = call;
    node->data = data;
    Push(node);
  }
}

void DrainDecrefs() {
  // acquire: pairs with the release in Push.
  Dropped* node = g_dropped.exchange(nullptr, std::memory_order_acquire);
  while (node) {
    Dropped* next = node->next;
    if (node->object || node->call) {
      CallPython([node] {
        Py_XDECREF(node->object);
        if (node->call) node->call(node->data);
      });
      FreeDropped(node);
    } else {
      CallPython([node] {
        for (size_t i = 0; i < node->count; ++i) Py_XDECREF(node->items()[i]);
      });
      std::free(node);
    }
    node = next;
  }
}

void ForgetWaiters() {
  for (auto* count : {&g_wanting, &g_lanes_wanting, &g_lane_threads, &g_consumers_apart}) {
    count->store(0, std::memory_order_relaxed);
  }
}

void LeakReferences() { g_dead.store(true, std::memory_order_relaxed); }

}  // namespace penstock
