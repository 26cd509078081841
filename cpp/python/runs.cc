// Entering, leaving and retiring runs.
#include "python/runs.h"

#include <pybind11/pybind11.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <vector>

#include "python/gil.h"
#include "python/shown_refs.h"
#include "runtime/clock.h"

namespace py = pybind11;

namespace penstock {
namespace {

std::vector<std::weak_ptr<Session>>& Runs() {
  static auto& runs = *new std::vector<std::weak_ptr<Session>>;
  return runs;
}
std::mutex& RunsMutex() {
  // A leaf lock.
  static auto& mutex = *[] {
    auto* made = new std::mutex;
    HoldAcrossFork(*made);
    return made;
  }();
  return mutex;
}

// For an object that must never be destroyed.
template <typename T>
void Leak(T&& value) {
  union Leaked {
    explicit Leaked(T&& v) : value(std::move(v)) {}
    ~Leaked() {}
    T value;
  };
  const Leaked leaked(std::forward<T>(value));
}

// Wakes only the thread that may enter next. Waking all n waiters would make each acquire the GIL
// just to wait again, n times for n elements.
void WakeFirst(Run& run) {
  if (!run.busy && !run.queue.empty()) run.queue.front()->NotifyOne();
}

// Waits in the queue of a run for a scope. All methods need the GIL.
class Queued final {
 public:
  explicit Queued(Run& run) : run_(run) { run.queue.push_back(&turn_); }
  ~Queued() {
    std::erase(run_.queue, &turn_);
    WakeFirst(run_);  // this thread may have given up after it was woken
  }
  Queued(const Queued&) = delete;
  Queued& operator=(const Queued&) = delete;
  bool first() const { return run_.queue.front() == &turn_; }

  // Sleeps until woken. False: time to check for signals.
  bool Wait() {
    Attachment attachment(Attachment::Role::kConsumer);
    const uint32_t key = turn_.PrepareWait();  // before the GIL is released: see WakeFirst
    attachment.Detach();
    return turn_.Wait(key, NowNs() + 100'000'000) == EventCount::Wake::kNotified;
  }

  // Lets other threads go first meanwhile: a signal handler may enter the run itself, or wait for a
  // thread that does.
  bool CheckSignals() {
    const auto at = std::find(run_.queue.begin(), run_.queue.end(), &turn_);
    const ptrdiff_t position = at - run_.queue.begin();
    run_.queue.erase(at);
    WakeFirst(run_);
    const bool quiet = PyErr_CheckSignals() == 0;
    const auto size = static_cast<ptrdiff_t>(run_.queue.size());
    run_.queue.insert(run_.queue.begin() + std::min(position, size), &turn_);
    return quiet;
  }

 private:
  Run& run_;
  EventCount turn_;
};

void EndSession(Session* session) {
  if (CurrentAttachment() || !HoldsGil()) {
    delete session;
    return;
  }
  // Without it, the wait for the threads would hold the GIL that they need.
  Attachment attachment(Attachment::Role::kConsumer);
  delete session;
}

}  // namespace

std::shared_ptr<Session> MakeSession(const Run& run) {
  std::shared_ptr<Session> session(new Session(run.plan, run.options, run.identity), EndSession);
  ShownRefs::MakeFor(*session);
  return session;
}

void Retire(std::shared_ptr<Session> session, PyRef dataset) {
  session->Cancel();
  if (ShuttingDown()) {  // nothing may run while the interpreter is finalizing
    Leak(std::move(session));
    dataset.release();
    return;
  }
  if (!session->has_threads()) {
    // The collector may run on a thread that is calling a user function. If the GIL is released
    // meanwhile, it is held again before the collector continues.
    const Attachment attachment(Attachment::Role::kConsumer);
    session->Close();
    return;
  }
  std::shared_ptr<void> kept, more;
  try {
    kept = ToForeign(std::move(dataset));
    more = ShownRefs::Keep(*session);
    ThreadPool::Get().Run(Lane::kNative, "ps-close", [session, kept, more] { session->Close(); });
  } catch (const std::exception&) {  // no thread or no memory available: this thread waits
    if (Session::Serving::current() == session.get()) {  // it would wait for itself
      Leak(std::move(session));
      Leak(std::move(kept));
      Leak(std::move(more));
      return;
    }
    Attachment attachment(Attachment::Role::kConsumer);
    attachment.Detach();
    session->Close();
  }
}

bool FromInside(const Run& run) {
  return (run.busy && run.owner == PyThread_get_thread_ident()) ||
         (run.session && Session::Serving::current() == run.session.get());
}

void Enter(Run& run, const char* method) {
  std::optional<Queued> queued;
  while (run.busy || !run.queue.empty()) {
    if (FromInside(run)) {
      throw Error(ErrorKind::kRuntime,
                  "{}: this iterator was used by a function that it is running; use an iterator of "
                  "its own there",
                  std::string_view(method));
    }
    ParkIfExiting();
    if (ShuttingDown()) {  // the thread inside, or the first waiter, may never continue
      throw Error(ErrorKind::kRuntime, "{}: the run was stopped, because Python is exiting",
                  std::string_view(method));
    }
    if (!queued) queued.emplace(run);
    if (!run.busy && queued->first()) break;
    if (!queued->Wait() && !queued->CheckSignals()) throw py::error_already_set();
  }
  run.busy = true;
  run.owner = PyThread_get_thread_ident();
}

void Leave(Run& run) {
  run.busy = false;
  WakeFirst(run);
}

void CheckUsable(const Run& run, const char* method) {
  if (run.fork_generation != ForkGeneration()) {
    throw Error(ErrorKind::kRuntime,
                "{}: this iterator was created before os.fork(); create a new one with iter() in "
                "the child",
                std::string_view(method));
  }
}

void Begin(Run& run) {
  if (run.session) return;
  InstallExitHook();
  run.session = MakeSession(run);
  RegisterRun(run.session);
}

void RegisterRun(const std::shared_ptr<Session>& session) {
  std::lock_guard lock(RunsMutex());
  auto& runs = Runs();
  std::erase_if(runs, [](auto& run) { return run.expired(); });
  runs.push_back(session);
}

void CancelAllRuns() {
  std::vector<std::shared_ptr<Session>> live;
  {
    std::lock_guard lock(RunsMutex());
    for (auto& run : Runs()) {
      if (auto session = run.lock()) live.push_back(std::move(session));
    }
  }
  for (auto& session : live) session->Cancel();
}

}  // namespace penstock
