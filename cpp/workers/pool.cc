// Taking workers and giving them back.
#include "workers/pool.h"

#include <algorithm>
#include <utility>

#include "runtime/fork.h"
#include "workers/wire.h"

namespace penstock {
namespace {

std::mutex g_pool_mutex;  // a leaf lock
WorkerPool* g_pool = nullptr;
// What the pools of this process and its fork children start.
std::vector<std::string>& Command() {
  static auto* command = new std::vector<std::string>();
  return *command;
}

// Whether it can be used: what was still to come of a call that no one waits for has come.
bool IsFree(Worker& worker) {
  if (!worker.owes) return true;
  std::string answer;
  if (worker.channel().Receive(answer, nullptr, 0) != ChannelStatus::kDone) return false;
  // What the answer lends is let go of.
  MessageReader(answer, worker.heap());
  worker.Answered();
  return true;
}

}  // namespace

WorkerPool& ThePool() {
  static const bool installed = [] {
    HoldAcrossFork(g_pool_mutex);
    // The parent's workers go on to be the parent's: the child neither ends them nor waits for
    // them.
    OnForkChild([] { g_pool = nullptr; });
    return true;
  }();
  static_cast<void>(installed);
  std::lock_guard lock(g_pool_mutex);
  if (!g_pool) g_pool = new WorkerPool();
  return *g_pool;
}

void SetWorkerCommand(std::vector<std::string> command) {
  std::lock_guard lock(g_pool_mutex);
  Command() = std::move(command);
}

WorkerPool::Lease WorkerPool::Take(bool fresh) {
  std::vector<std::string> command;
  {
    std::lock_guard lock(mutex_);
    std::erase_if(idle_, [](auto& worker) { return worker->channel().Closed(); });
    for (auto worker = idle_.begin(); !fresh && worker != idle_.end(); ++worker) {
      if (!IsFree(**worker)) continue;
      std::unique_ptr<Worker> taken = std::move(*worker);
      idle_.erase(worker);
      return Lease(*this, std::move(taken));
    }
  }
  {
    std::lock_guard lock(g_pool_mutex);
    command = Command();
  }
  return Lease(*this, Worker::Start(command));
}

void WorkerPool::GiveBack(std::unique_ptr<Worker> worker) {
  // More than that many calls that no one waits for are ended with their processes.
  constexpr size_t kMostOwing = 16;
  std::unique_ptr<Worker> ended;
  std::lock_guard lock(mutex_);
  idle_.push_back(std::move(worker));
  auto owing = std::ranges::count_if(idle_, [](auto& each) { return each->owes; });
  if (owing <= static_cast<ptrdiff_t>(kMostOwing)) return;
  auto oldest = std::ranges::find_if(idle_, [](auto& each) { return each->owes; });
  ended = std::move(*oldest);
  idle_.erase(oldest);
}

std::vector<int64_t> WorkerPool::Idle() {
  std::lock_guard lock(mutex_);
  std::vector<int64_t> pids;
  for (auto& worker : idle_) pids.push_back(worker->pid());
  return pids;
}

}  // namespace penstock
