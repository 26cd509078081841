// Everything about the GIL: attaching, detaching, deferred decrefs, lanes, exit and fork.
//
// A thread that may hold the GIL inside the engine has an Attachment: the consumer while it is in
// __next__, and a lane thread for its whole life. Attaching and detaching are lazy: code that is
// about to call Python attaches, and code that is about to wait, or to work for long without
// Python, detaches (the engine does so through BlockingHook). No thread re-attaches before it needs
// Python again. Native threads have no Attachment and never attach, with one exception: the thread
// that watches for stalled iterators takes the GIL for each check (UsingPython).
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

  // The calling thread must hold the GIL, and holds it again when the Attachment is destroyed.
  explicit Attachment(Role role);
  ~Attachment();
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  void Attach();
  void Detach();
  bool attached() const { return attached_; }
  Role role() const { return role_; }
  // Called between two calls of user functions. A lane releases the GIL for a gap if it has held it
  // for a whole burst, or if the consumer waits for it. Re-attaching immediately would starve every
  // other Python thread, because the waiter's switch interval restarts each time.
  void Yield();

  void BeforeWait() override { Detach(); }
  bool Interrupted() override;
  // Python runs signal handlers only in its main thread, which is never a lane.
  bool Interruptible() const override { return !on_lane_; }
  bool Replaceable() override;
  // Takes the raised exception if it is a Ctrl-C that interrupted a user function on the consumer's
  // own thread, which is not a failure of the element. If true, throw Error(kInterrupted); the work
  // is then repeated. In a child that the function has forked it takes any exception.
  bool TakeInterrupt();
  // Called where a user function may have returned. Ends the process if it is a child that the
  // function forked in a lane thread, because the pipeline to return to does not exist there.
  void EndIfForked() const {
    if (forked_ && role_ == Role::kLane) EndForkChild();
  }
  // Notes that the raised exception comes from a coroutine, which ran in another thread: a
  // KeyboardInterrupt is then not a Ctrl-C.
  void NoteOfCoroutine();
  // In a fork child: marks the attachments of the thread that forked.
  static void AfterForkInChild();
  bool interrupted() const { return static_cast<bool>(interrupt_); }
  // Raises the exception that a signal handler raised during a wait. For __next__.
  void RestoreInterrupt();

 private:
  Role role_;
  PyThreadState* thread_;
  BlockingHook* outer_hook_;
  Attachment* outer_;
  bool on_lane_;  // this attachment, or an enclosing one, belongs to a lane
  bool attached_ = true;
  bool gap_ = false;  // detached while other threads might want the GIL
  int64_t attached_at_;
  int64_t detached_at_ = 0;
  int calls_until_clock_ = 0;
  int calls_per_clock_ = 1;
  int64_t last_clock_ = 0;
  bool forked_ = false;  // by a function called within this attachment; this process is the child
  PyRef interrupt_;
  PyRef of_coroutine_;  // the last KeyboardInterrupt raised by a coroutine

  void KeepInterrupt();
};

// The Attachment of this thread; null for threads that are not inside the engine.
Attachment* CurrentAttachment();
// For code that is about to call Python: attaches if needed. Throws on a native thread.
Attachment& EnsureAttached();

// As EnsureAttached, for a thread that is not attached. Returns whether another thread held the GIL
// or a lane was waiting for it.
bool TakeGil();

// Whether this thread holds the GIL. Also works on threads that the engine did not create.
bool HoldsGil();
// Releases the reference now if this thread holds the GIL, otherwise leaves it to the next holder.
void DeferredDecref(PyObject* object);
// Memory for `count` references, initially null. DeferredDecrefAll frees it. Throws std::bad_alloc.
PyObject** NewReferences(size_t count);
// As DeferredDecref, for `count` references in memory from NewReferences, which is also freed.
void DeferredDecrefAll(PyObject** objects, size_t count);
// Calls `call(data)` with the GIL: now if this thread holds it, otherwise from the next holder.
// Never calls it once the interpreter may be gone.
void DeferredCall(void (*call)(void*), void* data);
// Releases the deferred references. Needs the GIL.
void DrainDecrefs();
// In a fork child: resets the counters of threads that wait for the GIL.
void ForgetWaiters();
// From here on references are leaked, because the interpreter may be gone.
void LeakReferences();

// Python's lane: runs bodies sequentially on real threading.Threads, which are reused.
void SpawnLaneThread(const char* name, std::function<void()> body);
// The body of a lane thread, called from Python (a plain C method: no pybind11 frames).
PyObject* LaneMain(PyObject*, PyObject*);

// Holds the GIL for a scope on a native thread. An exiting process waits for the end of the scope,
// or does not let it begin; the object then converts to false.
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

// The atexit hook, called with the GIL. Stops every run and waits for the lanes to end, but not for
// functions that block. After it returns, no engine thread uses Python again, and references are
// leaked. False, with an exception set, if a signal ended the wait.
bool Shutdown();
bool ShuttingDown();
// Whether this thread, one of the user's daemon threads, would use Python after Shutdown, when the
// interpreter may end at any moment. False for a thread with a UsingPython, which Shutdown waits
// for.
bool MustPark();
// Never returns. Waking such a thread would kill it in the middle of C++, or print a traceback.
[[noreturn]] void Park();
// Parks the calling thread, which holds the GIL, if it MustPark.
void ParkIfExiting();
// Installs the exit hook; called before the first thread starts.
void InstallExitHook();

// Calls Python. Up to 3.13, CPython ends a daemon thread that requests the GIL of a finalized
// interpreter by unwinding its stack, which makes C++ call terminate(). This wrapper parks such a
// thread forever instead.
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
