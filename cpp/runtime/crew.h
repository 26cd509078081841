// Crew: the threads of a stage that do the same work. Threads that exited while idle are replaced.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/parking.h"
#include "runtime/pump.h"

namespace penstock {

// Used by one thread, except for `work`, which runs on the crew's threads.
class Crew final {
 public:
  // `work` returns when it is finished, or when Parking::Leave has returned true; then it may be
  // called again with the same number. `last_out` is called by each thread that is the only one
  // left when it returns; another one may start meanwhile.
  using Work = std::function<void(int number, Parking& parking)>;
  Crew(Lane lane, const char* name, Work work, std::function<void()> last_out)
      : lane_(lane), name_(name), work_(std::move(work)), last_out_(std::move(last_out)) {}

  int size() const { return static_cast<int>(members_.size()); }
  bool empty() const { return members_.empty(); }

  // Adds a thread. Throws if none is available: std::system_error if the system refused it.
  void Add() {
    auto member = std::make_unique<Member>();
    // Before the thread starts: nothing may throw once it runs.
    members_.reserve(members_.size() + 1);
    try {
      Start(size(), *member);
    } catch (const std::system_error&) {
      refused_ = true;
      throw;
    }
    members_.push_back(std::move(member));
  }
  // Whether the system has refused a thread; the stage then does not request more.
  bool refused() const { return refused_; }

  // Whether no thread is working. Their results are then visible.
  bool idle() const {
    return running_.load(std::memory_order_acquire) == 0;  // pairs with the end of a thread
  }

  // Restarts threads that have left and are wanted. Call after notifying the event they wait for
  // (see Parking). If no thread is available, the others do the work. If there are no others,
  // throws std::system_error, and other failures only if `needed`.
  template <class Wanted>
  void Recall(Wanted wanted, bool needed) {
    for (int number = 0; number < size(); ++number) {
      Member& member = *members_[static_cast<size_t>(number)];
      if (!member.parking.parked() || !wanted(number) || !member.parking.Replace()) continue;
      member.pump.reset();  // its body has returned or is about to
      try {
        Start(number, member);
      } catch (const std::system_error&) {
        member.parking.Restore();
        if (!AnyPresent(wanted)) throw;
        return;
      } catch (...) {
        member.parking.Restore();
        if (needed && !AnyPresent(wanted)) throw;
        return;
      }
    }
  }

  // Waits for all threads, after they were asked to end.
  void Join() { members_.clear(); }

 private:
  struct Member {
    Parking parking;
    std::unique_ptr<Pump> pump;  // last: joined first
  };

  // Whether a wanted thread has not left. Call after the same Notify: a thread that is about to
  // leave is either replaced, or sees the change and stays.
  template <class Wanted>
  bool AnyPresent(Wanted wanted) const {
    for (int number = 0; number < size(); ++number) {
      const Member& member = *members_[static_cast<size_t>(number)];
      if (!member.parking.parked() && wanted(number)) return true;
    }
    return false;
  }

  void Start(int number, Member& member) {
    running_.fetch_add(1, std::memory_order_relaxed);  // before it can end
    try {
      member.pump = std::make_unique<Pump>(lane_, name_, [this, number, &member] {
        work_(number, member.parking);
        // acq_rel: the last thread sees the results of the others.
        if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) last_out_();
      });
    } catch (...) {
      running_.fetch_sub(1, std::memory_order_acq_rel);
      throw;
    }
  }

  const Lane lane_;
  const char* const name_;
  const Work work_;
  const std::function<void()> last_out_;
  std::atomic<int> running_{0};
  bool refused_ = false;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace penstock
