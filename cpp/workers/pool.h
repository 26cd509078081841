// The worker processes of this process, which all its pipelines share.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

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
    ~Lease() {
      if (worker_) pool_.GiveBack(std::move(worker_));
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Worker* operator->() const { return worker_.get(); }
    Worker& operator*() const { return *worker_; }
    // It has ended, or is to end.
    void Drop() { worker_.reset(); }
    // It is another process's, of which this one is a fork child.
    void Leave() { static_cast<void>(worker_.release()); }

   private:
    WorkerPool& pool_;
    std::unique_ptr<Worker> worker_;
  };

  // One that no one uses, or a new one, always so with `fresh`. Throws an Error when none can be
  // started.
  Lease Take(bool fresh);
  // The ids of their processes, in no order.
  std::vector<int64_t> Idle();

 private:
  void GiveBack(std::unique_ptr<Worker> worker);

  std::mutex mutex_;  // a leaf lock
  std::vector<std::unique_ptr<Worker>> idle_;
};

// How a worker is started; before the first Take.
void SetWorkerCommand(std::vector<std::string> command);
// The pool of this process; a fork child has one of its own.
WorkerPool& ThePool();

}  // namespace penstock
