// How far a map has delivered that makes several calls at a time, for its states.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "compute/function.h"
#include "data/state_visitor.h"
#include "engine/state.h"
#include "runtime/budget.h"
#include "stages/map/delivered.h"
#include "stages/map/shared_input.h"

namespace penstock {

// What a map has made of some consecutive steps of its input.
struct MapPacket {
  std::vector<Block> results;
  int64_t rows = 0;  // of the input
  int64_t number = 0;
  int64_t position = 0;  // of the input's step that it begins with
  StateBlob state;       // of the input at `position`, when one was taken
  BudgetCharge charge;
  bool end = false;
  bool halted = false;  // memory ran out: neither results nor anything after them

  // Counts what the results hold.
  void Charge(Budget& budget) {
    size_t bytes = 0;
    for (const Block& block : results) bytes += block.footprint();
    charge = BudgetCharge(budget, static_cast<int64_t>(bytes));
  }
};

// For the consumer's thread.
class MapProgress final {
 public:
  // `filters`: the layout is that of filter, whose states end before what was delivered out of
  // order, unless something was.
  void VisitState(StateVisitor& visitor, SharedInput& input, bool filters) {
    int64_t index = base_index_ + delivered_.low();
    visitor.Count(index, "elements given");
    trail_.VisitState(visitor, delivered_.low());
    std::vector<int64_t> ahead = delivered_.ahead();
    constexpr int64_t kMost = StateVisitor::kMostCount;
    const bool has_ahead = !filters || (visitor.saving() ? !ahead.empty() : visitor.has_more());
    if (has_ahead) visitor.IntsIn(ahead, -kMost, kMost, "what was delivered out of order");
    if (visitor.saving()) return;
    base_index_ = index;
    StepRuns delivered = StepRuns::Restored(ahead);
    delivered_.Reset(delivered);
    input.Drop(std::move(delivered));
  }
  // Before the input begins: one step in is one step out, so the function is not called for them.
  void Discard(int64_t& steps) {
    trail_.Reset(-StepsMore(-trail_.front_position(), steps), trail_.front_blob());
    base_index_ = StepsMore(base_index_, steps);
    steps = 0;
  }
  void Begin(SharedInput& input) { input.StartAt(-trail_.front_position(), trail_.front_blob()); }
  // The input's steps from `position` on are delivered next. `state`: of the input there, if there
  // is one.
  void Take(int64_t position, StateBlob state) {
    if (state) trail_.Add(position, std::move(state));
    trail_.Thin();
    delivered_.MoveTo(position);
  }
  void Deliver(int64_t steps) {
    delivered_.Add(steps);
    trail_.Prune(delivered_.low());
  }
  // The position of the step that is delivered next, and its number at the stage.
  int64_t position() const { return delivered_.position(); }
  int64_t index() const { return base_index_ + delivered_.position(); }
  // Of the input's step 0. It does not change once the input has begun.
  int64_t base_index() const { return base_index_; }

 private:
  StateTrail trail_;
  int64_t base_index_ = 0;  // elements before the first one of this run of the iterator
  Delivered delivered_;
};

}  // namespace penstock
