// The watching thread, and its reports.
#include "python/stall_watch.h"

#include <pybind11/pybind11.h>

#include <algorithm>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "python/bind.h"
#include "python/coroutines.h"
#include "python/errors.h"
#include "python/gil.h"
#include "python/running_call.h"
#include "python/types.h"
#include "runtime/event_count.h"
#include "runtime/fork.h"
#include "runtime/thread_pool.h"
#include "workers/awaited_call.h"

namespace py = pybind11;
using namespace py::literals;

namespace penstock {
namespace {

constexpr MonoTime kStayNs = 500'000'000;  // lifetime when no thread is inside a run
constexpr MonoTime kLeaveNs = 50'000'000;  // see StallWatch::Run
constexpr int64_t kFirstLook = 64;         // fraction of the reporting threshold
constexpr int64_t kNextLook = 16;

thread_local StallWatch* t_watch = nullptr;
thread_local bool t_tells = false;

py::object StallText(const std::string& text) {
  PyObject* made = StringToPython(DType::Of(TypeCode::kText), text);
  if (!made) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(made);
}

double Seconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

// In the form that penstock.log expects.
py::list CallsOf(std::vector<RunningCall::Seen> running, std::vector<SeenCoroutine> coroutines,
                 const std::vector<AwaitedCall>& awaited, MonoTime now) {
  const auto held = [](PyRef object) -> py::object {
    if (!object) return py::none();
    return py::reinterpret_steal<py::object>(object.release());
  };
  py::list calls;
  for (RunningCall::Seen& call : running) {
    const auto awaits = std::find_if(
        coroutines.begin(), coroutines.end(),
        [&](const SeenCoroutine& each) { return each.thread != 0 && each.thread == call.thread; });
    PyRef task = awaits == coroutines.end() ? PyRef() : std::move(awaits->task);
    calls.append(py::make_tuple(StallText(call.text), Seconds(now - call.since), call.thread,
                                held(std::move(call.called)), py::none(), held(std::move(task))));
  }
  for (SeenCoroutine& call : coroutines) {
    if (call.thread != 0) continue;
    calls.append(py::make_tuple(StallText(call.text), Seconds(now - call.since), py::none(),
                                py::none(), py::none(), held(std::move(call.task))));
  }
  for (const AwaitedCall& call : awaited) {
    calls.append(py::make_tuple(StallText(call.text), Seconds(now - call.since), py::none(),
                                py::none(), call.pid, py::none()));
  }
  return calls;
}

}  // namespace

struct StallWatch::Watches {
  std::mutex mutex;  // protects the list; taken before the mutexes of watches and calls
  std::unordered_set<StallWatch*> all;
  std::atomic<bool> looking{false};  // relaxed: see Run
  EventCount changed;
};

// The report about one iterator, collected without running Python code.
struct StallWatch::Stall {
  const Session* session;  // only compared: it may have been destroyed
  std::string dataset;
  int64_t patience;
  MonoTime since;
  MonoTime first_look;
  std::vector<RunningCall::Seen> calls;
  std::vector<AwaitedCall> awaited;
  std::vector<StageSnapshot> first, now;
};

StallWatch::Watches& StallWatch::TheWatches() {
  static std::atomic<Watches*> current{nullptr};
  static const bool registered = [] {
    OnForkChild([] { current.store(nullptr, std::memory_order_release); });
    return true;
  }();
  (void)registered;
  Watches* watches = current.load(std::memory_order_acquire);  // pairs with the exchange
  if (watches) return *watches;
  auto* fresh = new Watches;  // leaked, as the thread pool is
  if (current.compare_exchange_strong(watches, fresh, std::memory_order_acq_rel)) return *fresh;
  delete fresh;
  return *watches;
}

StallWatch::~StallWatch() {
  if (!listed_) return;
  Watches& watches = TheWatches();
  const std::lock_guard lock(watches.mutex);
  watches.all.erase(this);
}

// `patience`: the same for all runs of an iterator.
void StallWatch::List(int64_t patience) {
  Watches& watches = TheWatches();
  {
    const std::lock_guard lock(watches.mutex);
    watches.all.insert(this);
    patience_ = patience;
    listed_ = true;
  }
  if (patience / kNextLook < kStayNs) watches.changed.NotifyAll();
}

StallWatch::Wait::Wait(StallWatch& watch, Session& session, MonoTime start)
    : watch_(session.options().stall_ns > 0 ? &watch : nullptr), outer_(t_watch) {
  if (!watch_) return;
  if (!watch_->listed_) watch_->List(session.options().stall_ns);
  {
    const std::lock_guard lock(watch_->mutex_);
    watch_->session_ = &session;
  }
  watch_->since_.store(start, std::memory_order_relaxed);
  t_watch = watch_;
}

StallWatch::Wait::~Wait() {
  t_watch = outer_;
  if (!watch_) return;
  watch_->since_.store(0, std::memory_order_relaxed);
  const std::lock_guard lock(watch_->mutex_);
  watch_->session_ = nullptr;
}

bool StallWatch::Telling() { return t_tells; }

void StallWatch::Mind() {
  if (!t_watch) return;
  Watches& watches = TheWatches();
  if (watches.looking.load(std::memory_order_relaxed)) return;
  if (watches.looking.exchange(true, std::memory_order_relaxed)) return;
  try {
    ThreadPool::Get().Run(Lane::kNative, "ps-stall", &StallWatch::Run);
  } catch (const std::exception&) {  // no thread available: nothing watches this wait
    watches.looking.store(false, std::memory_order_relaxed);
    t_watch = nullptr;
  }
}

// The watching thread. Before it ends, it clears `looking`, and then checks once more after a
// delay. A thread that has entered meanwhile either saw `looking` cleared and started another
// watching thread, or is seen by that check.
void StallWatch::Run() {
  Watches& watches = TheWatches();
  MonoTime alone_since = NowNs();
  bool leaving = false;
  for (;;) {
    const uint32_t key = watches.changed.PrepareWait();
    const MonoTime now = NowNs();
    MonoTime next = now + kStayNs;
    bool inside = false;
    {
      const std::lock_guard lock(watches.mutex);
      for (const StallWatch* watch : watches.all) {
        const MonoTime since = watch->since_.load(std::memory_order_relaxed);
        next = std::min(next, now + watch->patience_ / kNextLook);
        if (since == 0) continue;
        inside = true;
        next = std::min(next, watch->NextLook(since));
      }
    }
    if (inside) {
      alone_since = now;
      if (std::exchange(leaving, false) &&
          watches.looking.exchange(true, std::memory_order_relaxed)) {
        return watches.changed.CancelWait();
      }
    } else if (leaving) {
      return watches.changed.CancelWait();
    } else if (now - alone_since >= kStayNs) {
      watches.looking.store(false, std::memory_order_relaxed);
      leaving = true;
      next = now + kLeaveNs;
    }
    if (next <= now) {
      watches.changed.CancelWait();
      if (!Look()) return;
    } else {
      watches.changed.Wait(key, next);
    }
  }
}

MonoTime StallWatch::NextLook(MonoTime since) const {
  if (looked_since_ != since) return since + patience_ / kFirstLook;
  if (looked_at_ == 0) return kNoDeadline;
  return std::min(looked_at_ + patience_ / kNextLook, Due(since));
}

// A single look cannot tell which calls have just begun.
MonoTime StallWatch::Due(MonoTime since) const {
  return std::max(since + patience_, first_look_ + patience_ / kNextLook);
}

// False if the process is exiting.
bool StallWatch::Look() {
  const UsingPython using_python;
  if (!using_python) return false;
  std::vector<Stall> stalls;
  {
    Watches& watches = TheWatches();
    const MonoTime now = NowNs();
    const std::lock_guard lock(watches.mutex);
    for (StallWatch* watch : watches.all) watch->LookAt(now, &stalls);
  }
  t_tells = true;
  for (Stall& stall : stalls) {
    try {
      const MonoTime now = NowNs();
      const py::list calls =
          CallsOf(std::move(stall.calls), CoroutinesOf(stall.session), stall.awaited, now);
      auto stages = [](const std::vector<StageSnapshot>& all) {
        py::dict found;
        for (const StageSnapshot& each : all)
          found[py::str(each.path)] = py::make_tuple(StallText(each.label.text()), each.steps);
        return found;
      };
      py::module_::import("penstock.log")
          .attr("tell_stall")(StallText(stall.dataset), Seconds(stall.patience),
                              Seconds(now - stall.since), Seconds(now - stall.first_look), calls,
                              stages(stall.first), stages(stall.now));
    } catch (py::error_already_set& error) {
      error.discard_as_unraisable("penstock: what a stalled iterator waits for");
    } catch (const std::exception&) {  // out of memory: dropping the report is acceptable
    }
  }
  t_tells = false;
  return true;
}

// Needs the GIL.
void StallWatch::LookAt(MonoTime now, std::vector<Stall>* stalls) {
  const std::lock_guard lock(mutex_);
  const MonoTime since = since_.load(std::memory_order_relaxed);
  if (since == 0 || !session_ || NextLook(since) > now) return;
  if (std::exchange(looked_since_, since) != since) {
    first_ = session_->stats().Snapshot();
    first_look_ = now;
  }
  looked_at_ = now;
  std::vector<RunningCall::Seen> calls = RunningCall::Of(*session_, now);
  if (now < Due(since)) return;
  looked_at_ = 0;
  stalls->push_back({session_, session_->options().name, patience_, since, first_look_,
                     std::move(calls), AwaitedCall::Of(session_), std::exchange(first_, {}),
                     session_->stats().Snapshot()});
}

}  // namespace penstock
