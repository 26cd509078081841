// A worker process, seen from the process that started it.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "data/slab.h"
#include "runtime/stats.h"
#include "workers/channel.h"
#include "workers/fork_server.h"
#include "workers/shared_heap.h"

namespace penstock {

// What threads other than the worker's user may read about it during its life. Thread-safe.
class WorkerAccount {
 public:
  explicit WorkerAccount(int pid) : pid_(pid) {}
  void AddCalls(int64_t calls) { calls_.fetch_add(calls, std::memory_order_relaxed); }
  void SetFunctions(std::set<uint64_t> ids);
  // Nullopt if the worker does not have this function, or has ended.
  std::optional<WorkerReport> Report(uint64_t function) const;

 private:
  const int pid_;
  std::atomic<int64_t> calls_{0};
  mutable std::mutex mutex_;  // a leaf lock
  std::set<uint64_t> functions_;
};

// Not thread-safe.
class Worker {
 public:
  // Starts a program that calls Serve (serve.h), with the files under the numbers below; `given`,
  // if not -1, is an additional file. Throws an Error if the system refuses, or if the wait for the
  // fork server is cancelled or interrupted. `cancel` may be null.
  static std::unique_ptr<Worker> Start(const WorkerCommand& command, const CancelToken* cancel,
                                       int given = -1);
  static constexpr int kSocketFile = 10, kParentHeapFile = 11, kOwnHeapFile = 12, kGivenFile = 13;

  // Ends the process.
  ~Worker();

  Channel& channel() { return channel_; }
  PeerHeap& heap() { return heap_; }
  int pid() const { return pid_; }
  // The row that the worker is working on.
  int64_t row() { return heap_.table().row.load(std::memory_order_relaxed); }
  const std::shared_ptr<WorkerAccount>& account() const { return account_; }
  // Whether the function with this id and payload has not been sent yet. The caller must then send
  // it first.
  bool Learn(uint64_t id, const std::shared_ptr<const std::string>& payload);
  // Forgets functions whose payloads no longer exist. The caller must send the returned ids to the
  // worker.
  std::vector<uint64_t> ForgetEnded();
  // The memory lent to the worker for its current call.
  std::vector<Stretch>& lent() { return lent_; }
  // The same for each unanswered request, if there may be several.
  std::deque<std::vector<Stretch>> requests;
  // The batch that the worker writes to, or null. It must be kept until the worker answers or has
  // ended.
  std::shared_ptr<Slab> writes_to;
  // Whether an answer is outstanding that no one waits for any more.
  bool owes = false;
  // Whether it has ever answered.
  bool tried() const { return tried_; }

  // Call when the answer has arrived.
  void Answered() {
    tried_ = true;
    lent_.clear();
    writes_to = nullptr;
    owes = false;
  }
  // Call after the channel was closed. Waits for the process to end, kills it if that takes too
  // long, and returns how it ended: "is killed by signal: SIGKILL (9)", "has left with exit code
  // 3".
  std::string HowItEnded();
  // Kills the process immediately.
  void Kill();
  // Ends idle workers after their teardown functions. Waits for them, but only for a limited time.
  static void End(std::vector<std::unique_ptr<Worker>> workers);

 private:
  Worker(int socket, int heap_file, const NoForks& no_forks)
      : heap_(heap_file), channel_(socket, no_forks) {}
  // `pid`: the id of the worker's process.
  void Begin(int pid);
  void TellFunctions();
  // Whether the process has ended; its status is kept for HowItEnded.
  bool HasEnded() const;

  PeerHeap heap_;
  int pid_ = -1;
  std::shared_ptr<WorkerAccount> account_;
  Channel channel_;  // declared after the members whose constructors may throw
  std::map<uint64_t, std::weak_ptr<const std::string>> known_;
  std::vector<Stretch> lent_;
  bool tried_ = false;
};

// The heap of this process, which all its workers read.
SharedHeap& OwnHeap();
// Call first in a worker: uses this file, which the other process also has, for its heap.
void UseOwnHeap(int file);

}  // namespace penstock
