// Everything about the GIL: attaching, detaching, deferred decrefs, lanes, exit and fork.
//
// A thread that may hold the GIL inside the engine has an Attachment: the consumer while it is in
// __next__, and a lane thread for its life. Attaching and detaching are lazy in both directions:
// calling Python attaches, and whoever is about to wait or to work long without Python detaches
// (the engine does so through BlockingHook); no thread re-attaches before it needs Python again.
// Native threads have no Attachment and never attach; the one that looks after iterators that give
// nothing takes the GIL for a look (UsingPython).
#pragma once

#include <cstdint>
#include <functional>

#include "python/fork_child.h"
#include "python/python.h"
#if defined(__GLIBCXX__)
#include <cxxabi.h>
#endif

#include "runtime/blocking.h"

namespace penstock {

class Attachment final : public BlockingHook {
 public:
  enum class Role { kConsumer, kLane };

  // The calling thread holds the GIL, and holds it again when the Attachment ends.
  explicit Attachment(Role role);
  ~Attachment();
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  void Attach();
  void Detach();
  bool attached() const { return attached_; }
  Role role() const { return role_; }
  // Between two calls of user functions: a lane that has held the GIL for its burst, or that the
  // consumer waits for, lets go of it for the gap. Attaching again at once starves every other
  // Python thread, because the waiter's switch interval begins again each time.
  void Yield();

  void BeforeWait() override { Detach(); }
  bool Interrupted() override;
  // Python runs signal handlers in its main thread only, which is no lane.
  bool Interruptible() const override { return !on_lane_; }
  bool Replaceable() override;
  // Takes the raised exception when it is a Ctrl-C that hit a user function on the consumer's own
  // thread: it is no failure of an element. True: throw Error(kInterrupted), and do the work again.
  // In a child that the function has forked it takes any exception.
  bool TakeInterrupt();
  // Called where a function of the user may have returned: ends a child that the function has
  // forked in a thread of the lane, because the pipeline to return to does not exist in the child.
  void EndIfForked() const {
    if (forked_ && role_ == Role::kLane) EndForkChild();
  }
  // The raised exception comes from a coroutine, which ran in another thread: if it is a
  // KeyboardInterrupt, it is no Ctrl-C.
  void NoteOfCoroutine();
  // In a child: for the thread that has forked.
  static void AfterForkInChild();
  bool interrupted() const { return static_cast<bool>(interrupt_); }
  // The exception that a signal handler raised during a wait; to be raised from __next__.
  void RestoreInterrupt();

 private:
  Role role_;
  PyThreadState* thread_;
  BlockingHook* outer_hook_;
  Attachment* outer_;
  bool on_lane_;  // this one or one around it is a lane's
  bool attached_ = true;
  bool gap_ = false;  // detached while others could want the GIL
  int64_t attached_at_;
  int64_t detached_at_ = 0;
  int calls_until_clock_ = 0;
  int calls_per_clock_ = 1;
  int64_t last_clock_ = 0;
  bool forked_ = false;  // by a function that was called in it: this is the child
  PyRef interrupt_;
  PyRef of_coroutine_;  // the last KeyboardInterrupt of a coroutine

  void KeepInterrupt();
};

// The Attachment of this thread, null for threads that are not inside the engine.
Attachment* CurrentAttachment();
// For code that is about to call Python: attaches if need be. Throws on a native thread.
Attachment& EnsureAttached();

// As EnsureAttached, for a thread that is not attached. Whether the GIL was held, or wanted by a
// lane.
bool TakeGil();

// Whether this thread holds the GIL. Also for threads that the engine did not make.
bool HoldsGil();
// Releases the reference now when this thread holds the GIL, else leaves it to the next holder.
void DeferredDecref(PyObject* object);
// Memory for `count` references, all null at first, which DeferredDecrefAll frees. Throws
// std::bad_alloc.
PyObject** NewReferences(size_t count);
// As DeferredDecref for `count` references in memory of NewReferences, which is freed too.
void DeferredDecrefAll(PyObject** objects, size_t count);
// Calls `call(data)` with the GIL: now when this thread holds it, else by the next holder. It is
// not called any more when the interpreter may be gone.
void DeferredCall(void (*call)(void*), void* data);
// With the GIL: frees what was left.
void DrainDecrefs();
// In a fork child: no other thread wants the GIL.
void ForgetWaiters();
// From here on references are not released any more: there may be no interpreter.
void LeakReferences();

// Python's lane: real threading.Threads that run bodies one after the other.
void SpawnLaneThread(const char* name, std::function<void()> body);
// The body of a lane thread, called from Python (a plain C method: no pybind11 frames).
PyObject* LaneMain(PyObject*, PyObject*);

// Has the GIL for a scope, on a native thread. A process that exits waits for the end of the scope,
// or does not let it begin.
class UsingPython final {
 public:
  UsingPython();
  ~UsingPython();
  UsingPython(const UsingPython&) = delete;
  UsingPython& operator=(const UsingPython&) = delete;
  explicit operator bool() const { return may_; }

 private:
  const bool may_;
  PyGILState_STATE state_{};
};

// The atexit hook, called with the GIL. Stops every run, and waits for the lanes to end, but not
// for functions that block. After it returns, no engine thread uses Python again, and references
// are leaked. False with an exception set when a signal ended the wait.
bool Shutdown();
bool ShuttingDown();
// Whether this thread, a daemon thread of the user's, would use Python after Shutdown, when the
// interpreter may end at any moment. Not one that has a UsingPython: its end is waited for.
bool MustPark();
// Never returns. Waking such a thread would kill it in the middle of C++, or print a traceback.
[[noreturn]] void Park();
// Parks a thread that MustPark, and that holds the GIL.
void ParkIfExiting();
// Installs the exit hook; called before the first thread starts.
void InstallExitHook();

// Calls Python. CPython up to 3.13 ends a daemon thread that wants the GIL of a finished
// interpreter by unwinding its stack, which C++ answers with terminate(). Such a thread stops here
// for good instead.
template <typename Call>
auto CallPython(Call call) {
#if defined(__GLIBCXX__)
  try {
    return call();
  } catch (abi::__forced_unwind&) {
    Park();
  }
#else
  return call();
#endif
}

}  // namespace penstock
