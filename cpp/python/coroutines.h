// Coroutines: calls in progress on the event loop of penstock/coroutines.py.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "data/random.h"
#include "python/free_threads.h"
#include "python/python.h"
#include "runtime/clock.h"

namespace penstock {

class Session;

// Describes a call in progress.
struct SeenCoroutine {
  std::string text;          // "map(load), element 17 ('photos/a.jpg')"; "" for an awaited call
  MonoTime since = 0;        // when it began
  unsigned long thread = 0;  // Python's id of the thread that waits for it; 0: none
  PyRef task;
};

// One call of a coroutine function. Owned by a capsule in the context of its task, and so also kept
// alive by tasks that the function leaves running.
class CoroutineCall {
 public:
  CoroutineCall() = default;
  explicit CoroutineCall(const ElementRandom& random) : random_(random) {}
  virtual ~CoroutineCall() = default;
  CoroutineCall(const CoroutineCall&) = delete;
  CoroutineCall& operator=(const CoroutineCall&) = delete;
  // Called when the task is done, on the loop's thread with the GIL. Null: the task was cancelled
  // because the run or the process ends.
  virtual void Ended(PyObject* task) noexcept = 0;
  // Describes the call for a run's user; nullopt if it belongs to another run. `session` is only
  // compared, and may have ended. Needs the GIL, on any thread; runs no Python code.
  virtual std::optional<SeenCoroutine> SeenBy(const Session* session) const = 0;
  // Sets the key that random operations of the call draw from. Only before the call begins.
  void DrawFrom(const ElementRandom& random) { random_ = random; }
  void DrawFrom(CoroutineCall& other) {
    const std::lock_guard lock(other.mutex_);
    random_ = other.random_;
  }

 protected:
  // Threads that the call starts also draw, and other threads may inspect the call.
  mutable InsteadOfGil mutex_;

 private:
  friend RandomKey OperationKey(std::optional<uint64_t> seed);
  ElementRandom random_;  // the state that random operations of the call draw from
};

// Calls that one thread begins. Needs the GIL, attached.
class Coroutines final {
 public:
  // `taken` is called on the loop's thread, after the `Ended` of each call that has ended by then.
  explicit Coroutines(std::function<void()> taken);
  // Takes over the coroutine. The call begins with Begin.
  void Add(std::unique_ptr<CoroutineCall> call, PyRef coroutine);
  // Begins the added calls. False, with an error set, if the process is ending; none has begun
  // then.
  bool Begin();
  // Begins this call immediately, on any thread. False, with an error set, if the process is
  // ending.
  bool Begin(std::unique_ptr<CoroutineCall> call, PyRef coroutine) const;
  // Cancels all calls; they end soon after.
  void Cancel();

 private:
  bool BeginAll(const PyRef& pairs) const;

  PyRef calls_;   // penstock.coroutines.Calls
  PyRef adding_;  // pairs (call, coroutine)
};

// The calls in progress that belong to `session`, and all calls that threads wait for. Needs the
// GIL.
std::vector<SeenCoroutine> CoroutinesOf(const Session* session);

// Runs an awaitable and waits for its result. Returns a new reference, or null with an error set,
// which may come from a signal handler. Throws Error(kCancelled) if the run is cancelled meanwhile.
PyObject* Await(PyRef awaitable);
// As Await, for cleanup: the result is ignored, and nothing interrupts the wait.
void Finish(PyRef awaitable);
// Frees a coroutine that will not run, without the warning. Keeps an error that is set.
void CloseCoroutine(PyObject* coroutine);

// Marks the calling thread as the one that runs the event loop.
void RunLoopHere();
// Whether the calling thread may wait for coroutines. False, with an error set, on the thread of
// their event loop, which would wait for itself.
bool MayWait();

// A key for a random operation. Inside a coroutine it comes from the coroutine's call, otherwise
// from NextOperationKey.
RandomKey OperationKey(std::optional<uint64_t> seed);

}  // namespace penstock
