// ThreadPool: all threads of the engine, kept for the next user instead of started anew.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "runtime/clock.h"

namespace penstock {

// Native threads never touch Python; Python threads are threading.Threads of the Python folder.
enum class Lane { kNative, kPython };

// Two kinds of work, never mixed: bodies (Run) live long and may wait, each on a thread of its own;
// tasks (Submit) only compute, on at most CpuCount() threads. Because tasks never wait, and bodies
// are never bounded, nothing nested can deadlock.
//
// Neither may throw. What escapes is printed to stderr with the name, and the thread lives on;
// debug builds (no NDEBUG) abort instead, so that tests find it.
//
// The pool is a leaked singleton: no thread is joined at exit. A fork child gets a new, empty pool.
class ThreadPool final {
 public:
  using PythonSpawner = void (*)(const char* name, std::function<void()> body);

  static ThreadPool& Get();
  // Whether the caller is one of the pool's native threads.
  static bool InPool();
  // Run(kPython) calls it. It may throw; it must not run the body on the calling thread.
  static void SetPythonSpawner(PythonSpawner spawner);

  // Runs `body` on a cached thread of that lane, or on a new one; never waits for one. Throws
  // std::system_error when a thread cannot be made. `name` is shown by debuggers (15 characters)
  // and the trace.
  void Run(Lane lane, const char* name, std::function<void()> body);

  // Runs a short task that does not wait. FIFO. When no thread can be made and none exists, the
  // task runs here, before Submit returns.
  void Submit(std::function<void()> task);

  // How long a native thread stays without work; half a second at first. Not for threads already
  // asleep.
  void set_idle_timeout(MonoTime nanoseconds);
  // Native threads alive now, with and without work.
  int native_threads() const;

 private:
  struct Worker;
  ThreadPool() = default;
  ~ThreadPool() = delete;  // leaked, in a fork child too

  void RunNative(const char* name, std::function<void()> body);
  void NativeMain(Worker* worker);
  void TaskLoop();

  mutable std::mutex mutex_;   // leaf: no body and no task runs under it
  std::vector<Worker*> idle_;  // threads asleep without a body; the last in is the warmest
  int native_threads_ = 0;
  MonoTime idle_timeout_ = 500'000'000;
  std::deque<std::function<void()>> tasks_;
  std::condition_variable tasks_changed_;
  int task_threads_ = 0;       // bodies inside TaskLoop
  int idle_task_threads_ = 0;  // of these, asleep
};

}  // namespace penstock
