// Budget: limits the bytes that a session's buffers hold.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace penstock {

class EventCount;

// It counts but does not wait. A stage that fills a buffer checks over() before it takes another
// element, and takes one in any case if it holds none, so that a single large element cannot stop a
// pipeline. A stage that waits until over() is false holds a Watch meanwhile.
//
// Why it needs no polling: each time the count rises above the limit, one Release later brings it
// back, and that Release notifies. The count is changed before EventCount's fence N, and read after
// its fence W.
class Budget final {
 public:
  class Watch;

  explicit Budget(int64_t limit_bytes) : limit_(limit_bytes) {}
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  // relaxed everywhere: a value to compare; the rings publish the data.
  void Charge(int64_t bytes) { used_.fetch_add(bytes, std::memory_order_relaxed); }
  void Release(int64_t bytes) {
    int64_t before = used_.fetch_sub(bytes, std::memory_order_relaxed);
    if (before > limit_ && before - bytes <= limit_) NotifyWatches();
  }
  bool over() const { return used() > limit_; }
  int64_t used() const { return used_.load(std::memory_order_relaxed); }
  int64_t limit() const { return limit_; }

 private:
  void NotifyWatches();

  const int64_t limit_;
  alignas(128) std::atomic<int64_t> used_{0};
  alignas(128) std::mutex mutex_;  // a leaf, except for the EventCount's own
  std::vector<EventCount*> watches_;
};

// While alive, notifies `event` when the budget is no longer over its limit.
class Budget::Watch final {
 public:
  Watch(Budget& budget, EventCount& event);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  Budget& budget_;
  EventCount& event_;
};

// A charge that is released on destruction; moves along with the element it is for. The Budget must
// outlive it.
class BudgetCharge final {
 public:
  BudgetCharge() = default;
  BudgetCharge(Budget& budget, int64_t bytes) : budget_(&budget), bytes_(bytes) {
    budget.Charge(bytes);
  }
  BudgetCharge(BudgetCharge&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  BudgetCharge& operator=(BudgetCharge&& other) noexcept {
    if (this != &other) {
      Reset();
      budget_ = std::exchange(other.budget_, nullptr);
      bytes_ = std::exchange(other.bytes_, 0);
    }
    return *this;
  }
  ~BudgetCharge() { Reset(); }

  void Reset() {
    if (budget_ != nullptr) budget_->Release(bytes_);
    budget_ = nullptr;
    bytes_ = 0;
  }
  int64_t bytes() const { return bytes_; }

 private:
  Budget* budget_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace penstock
