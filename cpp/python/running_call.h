// Records which user functions each thread is calling, and for which elements. Used for messages
// about functions that do not return at exit, stalled iterators and slow calls.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "compute/function.h"
#include "python/free_threads.h"
#include "runtime/activity.h"
#include "runtime/clock.h"

namespace penstock {

// Everything is used with the GIL held or, without a GIL, with the mutex of the thread. The rows it
// refers to may be changed only inside Changing, or after the call has ended.
class RunningCall {
 public:
  // The calls of one thread, visible to other threads for as long as this object lives. `id`:
  // Python's.
  struct Thread {
    Thread();
    ~Thread();
    Thread(const Thread&) = delete;
    Thread& operator=(const Thread&) = delete;

    mutable InsteadOfGil mutex;
    const RunningCall* call = nullptr;  // the innermost one
    unsigned long id;
  };
  // Registers `thread` for the calling thread, which works for the session that Session::Serving
  // names. Null: other threads do not see its calls.
  static void SetThread(Thread* thread);
  // For a scope in which the calling thread itself pulls this run. Records its calls in `own`,
  // unless the thread is registered already.
  class Consuming final {
   public:
    Consuming(Thread& own, Session& session);
    ~Consuming();
    Consuming(const Consuming&) = delete;
    Consuming& operator=(const Consuming&) = delete;

   private:
    Thread* const former_thread_;
    Session* const former_session_;
  };

  // For calls row by row, starting with the first row. `called`: the object being called.
  RunningCall(const CallInfo& info, const Block& rows, PyObject* called)
      : RunningCall(*info.stage, info.index, 0, &rows, called) {}
  // For a source that is asked for successive elements, starting with this one.
  RunningCall(const StageLabel& stage, int64_t element, PyObject* called)
      : RunningCall(stage, 0, element, nullptr, called) {}
  ~RunningCall();
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;

  // Moves on to this row, or element.
  void At(int64_t row) {
    row_.store(row, std::memory_order_relaxed);  // relaxed: publishes no other data
  }

  // Changes rows that another thread may be reading for a message. `change` must not run user code,
  // which could make calls of its own.
  template <typename Change>
  auto Changing(const Change& change) const {
#if defined(Py_GIL_DISABLED)
    if (thread_) {
      std::lock_guard lock(thread_->mutex);
      return change();
    }
#endif
    return change();
  }

  // Sets the object being called, once it is known.
  void Calls(PyObject* called) {
    Changing([&] { called_ = called; });
  }

  // Runs the call for the current row, or the next element, and records it if it was slow.
  template <typename Call>
  auto Timed(const Call& call) const {
    if (slow_ns_ == 0) return call();
    const MonoTime start = NowNs();
    auto result = call();
    if (const int64_t took = NowNs() - start; took > slow_ns_) NoteSlow(took);
    return result;
  }

  // "map(load), element 17 ('photos/a.jpg', 3)".
  std::string text() const;
  // The same for row `row`, where the first row is element number `first`.
  static std::string TextOf(const StageLabel& stage, int64_t first, const Block& rows, int64_t row);

  // A snapshot of a call.
  struct Seen {
    std::string text;
    unsigned long thread;  // Python's id of its thread
    PyRef called;
    MonoTime since;  // it has been at this element at least since then
  };
  // The calls of a run, longest first. Each snapshot stores what it saw, so that the next one knows
  // since when a call has been at its element. Needs the GIL; runs no Python code.
  static std::vector<Seen> Of(const Session& session, MonoTime now);

 private:
  RunningCall(const StageLabel& stage, int64_t first, int64_t row, const Block* rows,
              PyObject* called);
  void NoteSlow(int64_t ns) const;

  Thread* const thread_;    // that makes this call; null: not visible to other threads
  Session* const session_;  // that the call belongs to; null: unknown
  const int64_t slow_ns_;
  const StageLabel& stage_;
  const int64_t first_;
  std::atomic<int64_t> row_;
  const Block* const rows_;  // null: not known before the call returns
  PyObject* called_;         // may be null
  const RunningCall* outer_ = nullptr;
  const Does calls_{Doing::kPython};
  // As of the last snapshot.
  mutable int64_t seen_row_ = -1;
  mutable MonoTime seen_at_ = 0;
};

}  // namespace penstock
