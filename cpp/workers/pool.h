// The worker processes of this process, which all its pipelines share.
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
  // For the use of one thread; given back when it is destroyed.
  class Lease {
   public:
    Lease(WorkerPool& pool, std::unique_ptr<Worker> worker)
        : pool_(pool), worker_(std::move(worker)) {}
    ~Lease() { pool_.GiveBack(std::move(worker_), awaited_); }
    // False: there is none.
    explicit operator bool() const { return worker_ != nullptr; }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Worker* operator->() const { return worker_.get(); }
    Worker& operator*() const { return *worker_; }
    // It is kept for long: no one waits for it.
    void Keep() {
      if (std::exchange(awaited_, false)) pool_.GiveBack(nullptr);
    }
    // It has ended, or is to end.
    void Drop() { worker_.reset(); }
    // It is another process's, of which this one is a fork child.
    void Leave() { static_cast<void>(worker_.release()); }

   private:
    WorkerPool& pool_;
    std::unique_ptr<Worker> worker_;
    bool awaited_ = true;  // it is one of leases_
  };

  // One that no one uses, or a new one, at first with `fresh`; where the system refuses a new one,
  // the next that is given back. Throws an Error when none can be started and none is in use, or
  // when the wait ends early. `cancel` may be null.
  Lease Take(const CancelToken* cancel, bool fresh = false);
  // The next that no one uses; null when none is in use either.
  Lease TakeStarted(const CancelToken* cancel);
  // Of those that have a function.
  std::vector<WorkerReport> Reports(uint64_t function);
  // The ids of the processes that no one uses, in no order.
  std::vector<int64_t> Idle();

  // Keeps a worker that belongs to `owner`, while `owner` does not use it.
  void Park(const void* owner, std::unique_ptr<Worker> worker);
  // The parked worker of `owner`; null if it has ended or was not parked.
  std::unique_ptr<Worker> Unpark(const void* owner);

  // The time that an idle worker stays.
  static constexpr MonoTime kIdleNs = 5'000'000'000;
  // The same for a parked worker that has not answered yet: its imports would have to be repeated.
  static constexpr MonoTime kBusyNs = 60'000'000'000;
  // Ends workers that have been idle for that time. Returns whether other workers are idle.
  bool EndIdle(MonoTime idle = kIdleNs);

 private:
  struct IdleWorker {
    std::unique_ptr<Worker> worker;
    const void* owner = nullptr;  // of a parked one
    MonoTime since = NowNs();
  };
  std::unique_ptr<Worker> TakeIdle();
  // For a lease that is made of it, also when it is null.
  std::unique_ptr<Worker> AwaitIdle(const CancelToken* cancel);
  // What a Lease has had; null: it has ended, or is kept. `awaited`: the lease is one of leases_.
  void GiveBack(std::unique_ptr<Worker> worker, bool awaited = true);

  std::mutex mutex_;  // a leaf lock
  std::vector<IdleWorker> idle_;
  std::vector<IdleWorker> parked_;
  int leases_ = 0;  // that will be given back soon
  std::vector<std::weak_ptr<const WorkerAccount>> accounts_;
  EventCount given_back_;
};

// How a worker is started; before the first Take.
void SetWorkerCommand(WorkerCommand command);
// The pool of this process; a fork child has one of its own.
WorkerPool& ThePool();

}  // namespace penstock
