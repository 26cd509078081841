// What threads of Python's lane are calling, for the message when one does not return at exit.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "compute/function.h"
#include "python/free_threads.h"
#include "runtime/activity.h"

namespace penstock {

// All of it is used with the GIL held, or where there is none with the mutex of the thread.
class RunningCall {
 public:
  // The calls of one thread that may be asked about; it lies on that thread's stack.
  struct Thread {
    mutable InsteadOfGil mutex;
    const RunningCall* call = nullptr;  // the innermost one
  };
  // For the calling thread; null: it is not asked about.
  static void SetThread(Thread* thread);

  // For calls row by row: `row` is the present one.
  RunningCall(const CallInfo& info, const Block& rows, const int64_t& row)
      : RunningCall(*info.stage, info.index, row, &rows) {}
  // For a source that is asked for element after element.
  RunningCall(const StageLabel& stage, const int64_t& element)
      : RunningCall(stage, 0, element, nullptr) {}
  ~RunningCall();
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;

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

  // "map(load), element 17 ('photos/a.jpg', 3)".
  std::string text() const;

 private:
  RunningCall(const StageLabel& stage, int64_t first, const int64_t& row, const Block* rows);

  Thread* const thread_;  // of this call; null: it is not asked about
  const StageLabel& stage_;
  const int64_t first_;
  const int64_t& row_;
  const Block* const rows_;  // null: not known before the call returns
  const RunningCall* outer_ = nullptr;
  const Does calls_{Doing::kPython};
};

// For how long a process that exits waits for calls before it says which ones; 10 s unless set.
void SetExitPatience(int64_t ns);

}  // namespace penstock
