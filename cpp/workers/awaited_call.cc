// The list of waiting threads.
#include "workers/awaited_call.h"

#include <algorithm>
#include <mutex>
#include <unordered_set>

#include "data/error.h"
#include "runtime/fork.h"

namespace penstock {
namespace {

struct Waits {
  std::mutex mutex;  // a leaf lock
  std::unordered_set<const Awaiting*> all;
};
Waits& TheWaits() {
  static auto& waits = *[] {
    auto* made = new Waits;
    HoldAcrossFork(made->mutex);
    OnForkChild([] { TheWaits().all.clear(); });  // the threads do not exist in the child
    return made;
  }();
  return waits;
}

}  // namespace

Awaiting::Awaiting(const Session* session, const StageLabel& stage, int64_t first, Worker& worker)
    : session_(session), stage_(stage), first_(first), worker_(worker) {
  Waits& waits = TheWaits();
  const std::lock_guard lock(waits.mutex);
  waits.all.insert(this);
}

Awaiting::~Awaiting() {
  Waits& waits = TheWaits();
  const std::lock_guard lock(waits.mutex);
  waits.all.erase(this);
}

AwaitedCall Awaiting::call() const {
  const int64_t row = worker_.row();
  std::string text = stage_.text();
  if (row >= 0) text += Format(", element {}", first_ + row);
  return {std::move(text), worker_.pid(), since_};
}

std::vector<AwaitedCall> AwaitedCall::Of(const Session* session) {
  std::vector<AwaitedCall> calls;
  Waits& waits = TheWaits();
  const std::lock_guard lock(waits.mutex);
  for (const Awaiting* each : waits.all) {
    if (each->session() == session) calls.push_back(each->call());
  }
  std::sort(calls.begin(), calls.end(),
            [](const AwaitedCall& a, const AwaitedCall& b) { return a.since < b.since; });
  return calls;
}

}  // namespace penstock
