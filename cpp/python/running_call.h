// Which functions of the user the threads are calling, and for which elements: for the message when
// one does not return at exit, when nothing comes, or when a call was slow.
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

// All of it is used with the GIL held, or where there is none with the mutex of the thread. Its
// rows are changed with Changing only, or after it has ended.
class RunningCall {
 public:
  // The calls of one thread that may be asked about, for as long as it lives. `id`: Python's.
  struct Thread {
    Thread();
    ~Thread();
    Thread(const Thread&) = delete;
    Thread& operator=(const Thread&) = delete;

    mutable InsteadOfGil mutex;
    const RunningCall* call = nullptr;  // the innermost one
    unsigned long id;
  };
  // For the calling thread, which works for what Session::Serving says; null: it is not asked
  // about.
  static void SetThread(Thread* thread);
  // The calling thread pulls this run itself, for a scope: `own` has its calls, unless there is one
  // for the thread already.
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

  // For calls row by row, from the first one on. `called`: what is called.
  RunningCall(const CallInfo& info, const Block& rows, PyObject* called)
      : RunningCall(*info.stage, info.index, 0, &rows, called) {}
  // For a source that is asked for element after element, from this one on.
  RunningCall(const StageLabel& stage, int64_t element, PyObject* called)
      : RunningCall(stage, 0, element, nullptr, called) {}
  ~RunningCall();
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;

  // It has come to this row, or element.
  void At(int64_t row) {
    row_.store(row, std::memory_order_relaxed);  // a number that stands alone
  }

  // Changes rows that another thread may just be showing. Without code of the user's, which could
  // make calls of its own.
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

  // What is called, once it is known.
  void Calls(PyObject* called) {
    Changing([&] { called_ = called; });
  }

  // Around the call for the present row, or the next element: notes one that was slow.
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
  // The same of row number `row`, where the first one is element number `first`.
  static std::string TextOf(const StageLabel& stage, int64_t first, const Block& rows, int64_t row);

  // A call as others see it.
  struct Seen {
    std::string text;
    unsigned long thread;  // Python's id of it
    PyRef called;
    MonoTime since;  // it has this element at least since then
  };
  // Those of a run, the longest first. Each look notes what it sees, so that the next one knows
  // since when it is so. With the GIL; runs no Python code.
  static std::vector<Seen> Of(const Session& session, MonoTime now);

 private:
  RunningCall(const StageLabel& stage, int64_t first, int64_t row, const Block* rows,
              PyObject* called);
  void NoteSlow(int64_t ns) const;

  Thread* const thread_;    // of this call; null: it is not asked about
  Session* const session_;  // that it belongs to; null: unknown
  const int64_t slow_ns_;
  const StageLabel& stage_;
  const int64_t first_;
  std::atomic<int64_t> row_;
  const Block* const rows_;  // null: not known before the call returns
  PyObject* called_;         // may be null
  const RunningCall* outer_ = nullptr;
  const Does calls_{Doing::kPython};
  // Of the last look.
  mutable int64_t seen_row_ = -1;
  mutable MonoTime seen_at_ = 0;
};

}  // namespace penstock
