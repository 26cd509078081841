// Takes workers and returns them.
#include "workers/pool.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "runtime/fork.h"
#include "runtime/wait.h"
#include "workers/parcel.h"
#include "workers/wire.h"

namespace penstock {
namespace {

std::mutex g_pool_mutex;  // a leaf lock
WorkerPool* g_pool = nullptr;
// The command that the pools of this process and its fork children use.
WorkerCommand& Command() {
  static auto* command = new WorkerCommand();
  return *command;
}

IdleCleanup g_pool_cleanup([] { return ThePool().EndIdle(); });

// Whether it can be used: an answer that no one waited for has arrived by now.
bool IsFree(Worker& worker) {
  if (!worker.owes) return true;
  std::string answer;
  if (worker.channel().Receive(answer, nullptr, 0) != ChannelStatus::kDone) return false;
  // Releases what the answer lends.
  MessageReader(answer, worker.heap());
  worker.Answered();
  return true;
}

// Whether a parked worker is still working on a request: it may be starting, or importing modules.
bool IsBusy(Worker& worker) {
  std::string answer;
  while (!worker.requests.empty()) {
    if (worker.channel().Receive(answer, nullptr, 0) != ChannelStatus::kDone) return true;
    UnpackParcel(answer, worker.heap());
    worker.requests.pop_front();
  }
  return false;
}

}  // namespace

WorkerPool& ThePool() {
  static const bool installed = [] {
    HoldAcrossFork(g_pool_mutex);
    // The workers remain the parent's: the child neither ends them nor waits for them.
    OnForkChild([] { g_pool = nullptr; });
    return true;
  }();
  static_cast<void>(installed);
  std::lock_guard lock(g_pool_mutex);
  if (!g_pool) g_pool = new WorkerPool();
  return *g_pool;
}

void SetWorkerCommand(WorkerCommand command) {
  std::lock_guard lock(g_pool_mutex);
  Command() = std::move(command);
}

std::unique_ptr<Worker> WorkerPool::TakeIdle() {
  std::erase_if(idle_, [](auto& idle) { return idle.worker->channel().Closed(); });
  // The last one returned has the function that was called last.
  auto free =
      std::find_if(idle_.rbegin(), idle_.rend(), [](auto& each) { return IsFree(*each.worker); });
  if (free == idle_.rend()) return nullptr;
  std::unique_ptr<Worker> taken = std::move(free->worker);
  idle_.erase(std::next(free).base());
  return taken;
}

WorkerPool::Lease WorkerPool::Take(const CancelToken* cancel, bool fresh) {
  {
    std::lock_guard lock(mutex_);
    ++leases_;
    if (auto worker = fresh ? nullptr : TakeIdle()) return Lease(*this, std::move(worker));
  }
  WorkerCommand command;
  {
    std::lock_guard lock(g_pool_mutex);
    command = Command();
  }
  try {
    std::unique_ptr<Worker> worker = Worker::Start(command, cancel);
    std::lock_guard lock(mutex_);
    std::erase_if(accounts_, [](auto& account) { return account.expired(); });
    accounts_.push_back(worker->account());
    return Lease(*this, std::move(worker));
  } catch (...) {
    GiveBack(nullptr);
    if (cancel && cancel->cancelled()) throw;
    const std::exception_ptr refusal = std::current_exception();
    std::unique_ptr<Worker> other = AwaitIdle(cancel);
    if (!other) GiveBack(nullptr);
    if (!other) std::rethrow_exception(refusal);
    return Lease(*this, std::move(other));
  }
}

WorkerPool::Lease WorkerPool::TakeStarted(const CancelToken* cancel) {
  return Lease(*this, AwaitIdle(cancel));
}

std::unique_ptr<Worker> WorkerPool::AwaitIdle(const CancelToken* cancel) {
  const CancelToken never;
  const CancelToken& until = cancel ? *cancel : never;
  const CancelToken::Watch watch(until, given_back_);
  std::unique_ptr<Worker> taken;
  const WaitStatus status = WaitUntil(given_back_, until, [&] {
    std::lock_guard lock(mutex_);
    taken = TakeIdle();
    const bool ready = taken || leases_ == 0;
    leases_ += ready;
    return ready;
  });
  if (status == WaitStatus::kCancelled) throw Error(ErrorKind::kCancelled, "");
  if (status == WaitStatus::kInterrupted) throw Error(ErrorKind::kInterrupted, "");
  return taken;
}

void WorkerPool::GiveBack(std::unique_ptr<Worker> worker, bool awaited) {
  std::unique_ptr<Worker> ended;
  const bool idle = worker != nullptr;
  {
    std::lock_guard lock(mutex_);
    leases_ -= awaited;
    if (worker) idle_.push_back({std::move(worker)});
    // If there are more abandoned calls than this, the oldest ones are ended with their processes.
    constexpr ptrdiff_t kMostOwing = 16;
    auto owes = [](const IdleWorker& each) { return each.worker->owes; };
    if (std::ranges::count_if(idle_, owes) > kMostOwing) {
      auto oldest = std::ranges::find_if(idle_, owes);
      ended = std::move(oldest->worker);
      idle_.erase(oldest);
    }
  }
  given_back_.NotifyAll();
  if (idle) g_pool_cleanup.Schedule();
}

void WorkerPool::Park(const void* owner, std::unique_ptr<Worker> worker) {
  {
    std::lock_guard lock(mutex_);
    parked_.push_back({std::move(worker), owner});
  }
  g_pool_cleanup.Schedule();
}

std::unique_ptr<Worker> WorkerPool::Unpark(const void* owner) {
  std::lock_guard lock(mutex_);
  auto found = std::ranges::find(parked_, owner, &IdleWorker::owner);
  if (found == parked_.end()) return nullptr;
  std::unique_ptr<Worker> worker = std::move(found->worker);
  parked_.erase(found);
  return worker;
}

bool WorkerPool::EndIdle(MonoTime idle) {
  std::vector<std::unique_ptr<Worker>> ended, parked;
  bool others;
  {
    std::lock_guard lock(mutex_);
    const MonoTime since = NowNs() - idle;
    auto take = [&](std::vector<IdleWorker>& from, std::vector<std::unique_ptr<Worker>>& to) {
      std::erase_if(from, [&](IdleWorker& each) {
        const bool busy = idle > 0 && IsBusy(*each.worker);
        const MonoTime begin = busy ? std::min(since, NowNs() - kBusyNs) : since;
        if (each.since > begin && !each.worker->channel().Closed()) return false;
        to.push_back(std::move(each.worker));
        return true;
      });
    };
    take(idle_, ended);
    take(parked_, parked);
    others = !idle_.empty() || !parked_.empty();
  }
  Worker::End(std::move(ended));
  return others;
}

std::vector<WorkerReport> WorkerPool::Reports(uint64_t function) {
  std::vector<WorkerReport> reports;
  std::lock_guard lock(mutex_);
  for (const auto& each : accounts_) {
    const auto account = each.lock();
    if (!account) continue;
    if (auto report = account->Report(function)) reports.push_back(*report);
  }
  return reports;
}

std::vector<int64_t> WorkerPool::Idle() {
  std::lock_guard lock(mutex_);
  std::vector<int64_t> pids;
  for (auto& idle : idle_) pids.push_back(idle.worker->pid());
  return pids;
}

}  // namespace penstock
