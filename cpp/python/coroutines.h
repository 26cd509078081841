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

// A call in progress as others see it.
struct SeenCoroutine {
  std::string text;          // "map(load), element 17 ('photos/a.jpg')"; "" of one that is awaited
  MonoTime since = 0;        // it has been in progress since then
  unsigned long thread = 0;  // Python's id of the thread that waits for it; 0: none does
  PyRef task;
};

// One call of a coroutine function, from its begin to its end. Owned by a capsule that the task's
// context holds, and with it tasks that the function has left behind.
class CoroutineCall {
 public:
  CoroutineCall() = default;
  explicit CoroutineCall(const ElementRandom& random) : random_(random) {}
  virtual ~CoroutineCall() = default;
  CoroutineCall(const CoroutineCall&) = delete;
  CoroutineCall& operator=(const CoroutineCall&) = delete;
  // With the GIL, on the loop's thread; the task is done; null: it was cancelled, because the run
  // or the process ends.
  virtual void Ended(PyObject* task) noexcept = 0;
  // What is said of it to the user of `session`, which may have ended; nothing for other runs. With
  // the GIL, on any thread; it runs no code of Python.
  virtual std::optional<SeenCoroutine> SeenBy(const Session* session) const = 0;
  // Before it begins: what random operations of the call draw from.
  void DrawFrom(const ElementRandom& random) { random_ = random; }
  void DrawFrom(CoroutineCall& other) {
    const std::lock_guard lock(other.mutex_);
    random_ = other.random_;
  }

 protected:
  // Threads that the call starts draw too, and whoever looks at it asks.
  mutable InsteadOfGil mutex_;

 private:
  friend RandomKey OperationKey(std::optional<uint64_t> seed);
  ElementRandom random_;  // what random operations of the call draw from
};

// Some calls, from the thread that begins them. Needs the GIL, attached.
class Coroutines final {
 public:
  // `taken` is called on the loop's thread after the Ended of those that have ended by then.
  explicit Coroutines(std::function<void()> taken);
  // Takes over the coroutine. The call begins with Begin.
  void Add(std::unique_ptr<CoroutineCall> call, PyRef coroutine);
  // Begins what was added. False, with an error set, when the process ends: none has begun.
  bool Begin();
  // Begins this one at once, on any thread. False, with an error set, when the process ends.
  bool Begin(std::unique_ptr<CoroutineCall> call, PyRef coroutine) const;
  // All calls end soon after.
  void Cancel();

 private:
  bool BeginAll(const PyRef& pairs) const;

  PyRef calls_;   // penstock.coroutines.Calls
  PyRef adding_;  // pairs of call and coroutine
};

// The calls in progress that belong to `session`, and all that threads wait for. With the GIL.
std::vector<SeenCoroutine> CoroutinesOf(const Session* session);

// Runs an awaitable and waits for its end; new reference, null with an error set, perhaps that of a
// signal. When the run is cancelled meanwhile it throws Error(kCancelled).
PyObject* Await(PyRef awaitable);
// The same for what ends something: its result does not matter, and nothing ends the wait.
void Finish(PyRef awaitable);
// Frees a coroutine that is not to be run, without a warning. An error that is set stays.
void CloseCoroutine(PyObject* coroutine);

// From here on the calling thread runs the event loop.
void RunLoopHere();
// Whether the calling thread may wait for coroutines; false, with an error set, on the thread of
// their event loop, which would wait for itself.
bool MayWait();

// A key for a random operation: of the call whose coroutine the thread is in, else as
// NextOperationKey.
RandomKey OperationKey(std::optional<uint64_t> seed);

}  // namespace penstock
