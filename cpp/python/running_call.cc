// Tracks the calls of each thread, innermost first, and the threads.
#include "python/running_call.h"

#include <algorithm>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "data/element_text.h"
#include "data/printable.h"
#include "engine/session.h"
#include "python/gil.h"
#include "python/stall_watch.h"
#include "runtime/fork.h"

namespace penstock {
namespace {

thread_local RunningCall::Thread* t_thread = nullptr;
thread_local Session* t_session = nullptr;  // that this thread pulls as its consumer

struct Threads {
  std::mutex mutex;  // protects the list; only the mutex of a thread is taken under it
  std::unordered_set<RunningCall::Thread*> all;
};
Threads& TheThreads() {
  static auto& threads = *[] {
    auto* made = new Threads;
    HoldAcrossFork(made->mutex);
    OnForkChild([] { TheThreads().all.clear(); });  // their stacks no longer exist
    return made;
  }();
  return threads;
}

Session* SessionHere() { return t_session ? t_session : Session::Serving::current(); }

}  // namespace

RunningCall::Thread::Thread() : id(PyThread_get_thread_ident()) {
  Threads& threads = TheThreads();
  std::lock_guard lock(threads.mutex);
  threads.all.insert(this);
}

RunningCall::Thread::~Thread() {
  Threads& threads = TheThreads();
  std::lock_guard lock(threads.mutex);
  threads.all.erase(this);
}

void RunningCall::SetThread(Thread* thread) { t_thread = thread; }

RunningCall::Consuming::Consuming(Thread& own, Session& session)
    : former_thread_(t_thread), former_session_(std::exchange(t_session, &session)) {
  if (t_thread) return;
  own.id = PyThread_get_thread_ident();
  t_thread = &own;
}

RunningCall::Consuming::~Consuming() {
  t_thread = former_thread_;
  t_session = former_session_;
}

RunningCall::RunningCall(const StageLabel& stage, int64_t first, int64_t row, const Block* rows,
                         PyObject* called)
    : thread_(t_thread),
      session_(SessionHere()),
      slow_ns_(session_ ? session_->slow().limit_ns() : 0),
      stage_(stage),
      first_(first),
      row_(row),
      rows_(rows),
      called_(called) {
  if (!thread_) return;
  StallWatch::Mind();
  std::lock_guard lock(thread_->mutex);
  outer_ = thread_->call;
  thread_->call = this;
}

RunningCall::~RunningCall() {
  if (!thread_) return;
  {
    std::lock_guard lock(thread_->mutex);
    thread_->call = outer_;
  }
  CurrentAttachment()->EndIfForked();
}

std::string RunningCall::text() const {
  const int64_t row = row_.load(std::memory_order_relaxed);  // see At
  if (rows_ && row < rows_->rows) return TextOf(stage_, first_, *rows_, row);
  return Format("{}, element {}", stage_.text(), first_ + row);
}

std::string RunningCall::TextOf(const StageLabel& stage, int64_t first, const Block& rows,
                                int64_t row) {
  std::string text = Format("{}, element {}", stage.text(), first + row);
  const std::string element = RowText(rows, row);
  if (element.empty()) return text;
  return text + (element[0] == '(' ? " " + element : " (" + element + ")");
}

void RunningCall::NoteSlow(int64_t ns) const {
  std::string what = text();
  const int64_t row = row_.load(std::memory_order_relaxed);
  if (rows_ && row < rows_->rows) {
    const Origin origin = rows_->origin(row);
    if (origin.file) what += " of " + WithoutSecrets(*origin.file);
  }
  session_->slow().Note(what, ns);
}

std::vector<RunningCall::Seen> RunningCall::Of(const Session& session, MonoTime now) {
  std::vector<Seen> seen;
  Threads& threads = TheThreads();
  const std::lock_guard lock(threads.mutex);
  for (const Thread* thread : threads.all) {
    const std::lock_guard changing(thread->mutex);
    for (const RunningCall* call = thread->call; call; call = call->outer_) {
      if (call->session_ != &session) continue;
      const int64_t row = call->row_.load(std::memory_order_relaxed);
      if (std::exchange(call->seen_row_, row) != row) call->seen_at_ = now;
      seen.push_back({call->text(), thread->id, PyRef::Borrow(call->called_), call->seen_at_});
    }
  }
  std::stable_sort(seen.begin(), seen.end(),
                   [](const Seen& a, const Seen& b) { return a.since < b.since; });
  return seen;
}

}  // namespace penstock
