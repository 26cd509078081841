// What a stage has delivered when its steps leave it out of order.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

namespace penstock {

// All steps before `low`, and some beyond it.
class Delivered {
 public:
  int64_t low() const { return low_; }

  // The next steps are delivered from here on.
  void MoveTo(int64_t position) { position_ = position; }

  void Add(int64_t steps) {
    for (int64_t i = 0; i < steps; ++i, ++position_) {
      if (position_ != low_) {
        ahead_.insert(position_);
        continue;
      }
      ++low_;
      if (ahead_.empty()) continue;
      while (ahead_.erase(low_)) ++low_;
    }
  }

  // Those beyond `low`, counted from it.
  std::vector<int64_t> ahead() const {
    std::vector<int64_t> ahead(ahead_.begin(), ahead_.end());
    for (auto& position : ahead) position -= low_;
    return ahead;
  }

  void Reset(const std::set<int64_t>& ahead) {
    low_ = 0;
    ahead_ = ahead;
  }

 private:
  int64_t position_ = 0;
  int64_t low_ = 0;
  std::set<int64_t> ahead_;
};

}  // namespace penstock
