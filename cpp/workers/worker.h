// A worker process, as the process sees it that has started it.
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

// What others than the user of a worker may know of it, as long as it lives. Thread-safe.
class WorkerAccount {
 public:
  explicit WorkerAccount(int pid) : pid_(pid) {}
  void AddCalls(int64_t calls) { calls_.fetch_add(calls, std::memory_order_relaxed); }
  void SetFunctions(std::set<uint64_t> ids);
  // Nothing where the worker has not this function, or has ended.
  std::optional<WorkerReport> Report(uint64_t function) const;

 private:
  const int pid_;
  std::atomic<int64_t> calls_{0};
  mutable std::mutex mutex_;  // a leaf lock
  std::set<uint64_t> functions_;
};

// Used by one thread at a time.
class Worker {
 public:
  // Starts a program that calls Serve (serve.h), with the files under the numbers below; `given`,
  // if it is not -1, is one more. Throws an Error when the system refuses, or when the wait for the
  // fork server ends early. `cancel` may be null.
  static std::unique_ptr<Worker> Start(const WorkerCommand& command, const CancelToken* cancel,
                                       int given = -1);
  static constexpr int kSocketFile = 10, kParentHeapFile = 11, kOwnHeapFile = 12, kGivenFile = 13;

  // Ends the process.
  ~Worker();

  Channel& channel() { return channel_; }
  PeerHeap& heap() { return heap_; }
  int pid() const { return pid_; }
  // The row that it works on.
  int64_t row() { return heap_.table().row.load(std::memory_order_relaxed); }
  const std::shared_ptr<WorkerAccount>& account() const { return account_; }
  // Whether the function of this id and payload must be sent to it first: it has not been before.
  bool Learn(uint64_t id, const std::shared_ptr<const std::string>& payload);
  // Forgets functions whose payloads have gone, and returns their ids: it is to be told.
  std::vector<uint64_t> ForgetEnded();
  // What it has been lent for the call that it works on.
  std::vector<Stretch>& lent() { return lent_; }
  // The same for each unanswered request, if there may be several.
  std::deque<std::vector<Stretch>> requests;
  // The batch that it writes to; null: none. It must stay until there is an answer, or no worker.
  std::shared_ptr<Slab> writes_to;
  // Whether an answer is still to come, which no one waits for any more.
  bool owes = false;
  // Whether it has ever answered.
  bool tried() const { return tried_; }

  // Its answer has come.
  void Answered() {
    tried_ = true;
    lent_.clear();
    writes_to = nullptr;
    owes = false;
  }
  // After its channel was closed: waits for the end of the process, which is made to end if it does
  // not do so soon, and says in words how it ended:
  // "is killed by signal: SIGKILL (9)", "has left with exit code 3".
  std::string HowItEnded();
  // Ends the process now.
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
  Channel channel_;  // after what may throw
  std::map<uint64_t, std::weak_ptr<const std::string>> known_;
  std::vector<Stretch> lent_;
  bool tried_ = false;
};

// The heap of this process, which all its workers read.
SharedHeap& OwnHeap();
// In a worker, first of all: its heap is in this file, which the other process has too.
void UseOwnHeap(int file);

}  // namespace penstock
