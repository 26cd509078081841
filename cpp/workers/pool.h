// The worker processes of this process, shared by all its pipelines.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cancel.h"
#include "runtime/clock.h"
#include "runtime/event_count.h"
#include "workers/worker.h"

namespace penstock {

// Thread-safe.
class WorkerPool {
 public:
  // A worker for the exclusive use of one thread; returned to the pool on destruction.
  class Lease {
   public:
    Lease(WorkerPool& pool, std::unique_ptr<Worker> worker)
        : pool_(pool), worker_(std::move(worker)) {}
    ~Lease() { pool_.GiveBack(std::move(worker_), awaited_); }
    // False: the lease has no worker.
    explicit operator bool() const { return worker_ != nullptr; }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Worker* operator->() const { return worker_.get(); }
    Worker& operator*() const { return *worker_; }
    // The worker will be held for long: other threads stop waiting for it.
    void Keep() {
      if (std::exchange(awaited_, false)) pool_.GiveBack(nullptr);
    }
    // For a worker that has ended, or must end.
    void Drop() { worker_.reset(); }
    // In a fork child: leaves the worker to the parent.
    void Leave() { static_cast<void>(worker_.release()); }

   private:
    WorkerPool& pool_;
    std::unique_ptr<Worker> worker_;
    bool awaited_ = true;  // counted in leases_
  };

  // Takes an idle worker, or a new one; with `fresh`, a new one is tried first. If the system
  // refuses a new one, waits for the next worker that is returned. Throws an Error if none can be
  // started and none is in use, or if the wait is cancelled or interrupted. `cancel` may be null.
  Lease Take(const CancelToken* cancel, bool fresh = false);
  // Waits for an idle worker; empty if no worker is in use either.
  Lease TakeStarted(const CancelToken* cancel);
  // Reports of the workers that have a function.
  std::vector<WorkerReport> Reports(uint64_t function);
  // The process ids of idle workers, unordered.
  std::vector<int64_t> Idle();

  // Keeps a worker that belongs to `owner`, while `owner` does not use it.
  void Park(const void* owner, std::unique_ptr<Worker> worker);
  // The parked worker of `owner`; null if it has ended or was not parked.
  std::unique_ptr<Worker> Unpark(const void* owner);

  // How long an idle worker is kept.
  static constexpr MonoTime kIdleNs = 5'000'000'000;
  // The same for a parked worker that has not answered yet: its imports would have to be repeated.
  static constexpr MonoTime kBusyNs = 60'000'000'000;
  // Ends workers that have been idle for that time. Returns whether other workers are idle.
  bool EndIdle(MonoTime idle = kIdleNs);

 private:
  struct IdleWorker {
    std::unique_ptr<Worker> worker;
    const void* owner = nullptr;  // of a parked worker
    MonoTime since = NowNs();
  };
  std::unique_ptr<Worker> TakeIdle();
  // Waits for an idle worker. The caller must create a Lease from the result, even if it is null.
  std::unique_ptr<Worker> AwaitIdle(const CancelToken* cancel);
  // Returns the worker of a Lease; null: it has ended, or is kept. `awaited`: the lease counts in
  // leases_.
  void GiveBack(std::unique_ptr<Worker> worker, bool awaited = true);

  std::mutex mutex_;  // a leaf lock
  std::vector<IdleWorker> idle_;
  std::vector<IdleWorker> parked_;
  int leases_ = 0;  // leases that will be returned soon
  std::vector<std::weak_ptr<const WorkerAccount>> accounts_;
  EventCount given_back_;
};

// Sets how workers are started; call before the first Take.
void SetWorkerCommand(WorkerCommand command);
// The pool of this process; a fork child gets a separate one.
WorkerPool& ThePool();

}  // namespace penstock
