// Records which steps a stage has delivered if they leave it out of order.
#pragma once

#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "data/block.h"
#include "engine/state.h"

namespace penstock {

// Positions as runs of consecutive values: memory grows with the number of gaps, not of positions.
class StepRuns {
 public:
  bool empty() const { return runs_.empty(); }
  // Adds the positions [begin, end), none of which may be present.
  void Add(int64_t begin, int64_t end) {
    if (begin == end) return;
    auto next = runs_.lower_bound(begin);
    if (next != runs_.end() && next->first == end) {
      end = next->second;
      next = runs_.erase(next);
    }
    if (next != runs_.begin() && std::prev(next)->second == begin) {
      std::prev(next)->second = end;
    } else {
      runs_.emplace_hint(next, begin, end);
    }
  }
  // Removes the run that starts at `begin` and returns its end; returns `begin` if there is none.
  int64_t Absorb(int64_t begin) {
    auto first = runs_.begin();
    if (first == runs_.end() || first->first != begin) return begin;
    int64_t end = first->second;
    runs_.erase(first);
    return end;
  }
  // Whether `position` is present. Query in ascending order: lower positions are forgotten.
  bool Pass(int64_t position) {
    while (!runs_.empty() && runs_.begin()->second <= position) runs_.erase(runs_.begin());
    bool found = !runs_.empty() && runs_.begin()->first <= position;
    if (found && runs_.begin()->second == position + 1) runs_.erase(runs_.begin());
    return found;
  }
  // Removes the recorded steps from `rows`, which has at most one row, perhaps followed by an error
  // or the end. Returns whether the row was removed; `position`, the start of `rows`, then points
  // after it.
  bool PassRow(int64_t& position, Block& rows) {
    bool drop = rows.rows > 0 && Pass(position);
    if (rows.error && Pass(position + rows.rows)) rows.error.reset();
    if (!drop) return false;
    Block rest;
    rest.error = std::move(rows.error);
    rest.end = rows.end;
    rows = std::move(rest);
    ++position;
    return true;
  }

  // For states, relative to `low`: a position, followed by minus the length of its run if that is
  // more than one. Older states list every position.
  std::vector<int64_t> Saved(int64_t low) const {
    std::vector<int64_t> saved;
    for (auto [begin, end] : runs_) {
      saved.push_back(begin - low);
      if (end - begin > 1) saved.push_back(begin - end);
    }
    return saved;
  }
  static StepRuns Restored(const std::vector<int64_t>& saved) {
    StepRuns restored;
    int64_t last = 0;  // end of the previous run
    for (size_t i = 0; i < saved.size(); ++i) {
      int64_t begin = saved[i];
      bool alone = i + 1 == saved.size() || saved[i + 1] >= 0;
      if (begin <= 0 || begin < last || begin == std::numeric_limits<int64_t>::max() ||
          (!alone && saved[i + 1] < begin - std::numeric_limits<int64_t>::max())) {
        StateVisitor::ThrowDamaged("map", "what was delivered out of order must be in order");
      }
      last = begin + (alone ? 1 : -saved[++i]);
      restored.Add(begin, last);
    }
    return restored;
  }

 private:
  std::map<int64_t, int64_t> runs_;  // begin -> end; runs never touch
};

// All steps before `low`, and some after it.
class Delivered {
 public:
  int64_t low() const { return low_; }
  // The position of the next delivered step.
  int64_t position() const { return position_; }

  // Later steps are delivered starting at `position`.
  void MoveTo(int64_t position) { position_ = position; }

  void Add(int64_t steps) {
    int64_t begin = position_;
    position_ += steps;
    if (begin == low_) {
      low_ = ahead_.Absorb(position_);
    } else {
      ahead_.Add(begin, position_);
    }
  }

  // The delivered positions after `low`, relative to it.
  std::vector<int64_t> ahead() const { return ahead_.Saved(low_); }

  void Reset(StepRuns ahead) {
    low_ = 0;
    ahead_ = std::move(ahead);
  }

 private:
  int64_t position_ = 0;
  int64_t low_ = 0;
  StepRuns ahead_;
};

}  // namespace penstock
