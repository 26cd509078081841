// The delivered position of a map with several concurrent calls, for its states.
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

// The results for some consecutive steps of the input.
struct MapPacket {
  std::vector<Block> results;
  int64_t rows = 0;  // of the input
  int64_t number = 0;
  int64_t position = 0;  // of the first input step
  StateBlob state;       // of the input at `position`, if one was taken
  BudgetCharge charge;
  bool end = false;
  bool halted = false;  // memory ran out: no results, and nothing after them

  // Charges the budget for the results.
  void Charge(Budget& budget) {
    size_t bytes = 0;
    for (const Block& block : results) bytes += block.footprint();
    charge = BudgetCharge(budget, static_cast<int64_t>(bytes));
  }
};

// Used on the consumer's thread.
class MapProgress final {
 public:
  // `filters`: uses the format of filter, which omits the list of steps delivered out of order if
  // it is empty.
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
  // Before the input starts: one input step is one output step, so the function is not called for
  // them.
  void Discard(int64_t& steps) {
    trail_.Reset(-StepsMore(-trail_.front_position(), steps), trail_.front_blob());
    base_index_ = StepsMore(base_index_, steps);
    steps = 0;
  }
  void Begin(SharedInput& input) { input.StartAt(-trail_.front_position(), trail_.front_blob()); }
  // The next delivered steps are those of the input from `position` on. `state`: that of the input
  // there, if available.
  void Take(int64_t position, StateBlob state) {
    if (state) trail_.Add(position, std::move(state));
    trail_.Thin();
    delivered_.MoveTo(position);
  }
  void Deliver(int64_t steps) {
    delivered_.Add(steps);
    trail_.Prune(delivered_.low());
  }
  // The input position of the next delivered step, and its index at the stage.
  int64_t position() const { return delivered_.position(); }
  int64_t index() const { return base_index_ + delivered_.position(); }
  // The index of the input's step 0. Constant once the input has started.
  int64_t base_index() const { return base_index_; }

 private:
  StateTrail trail_;
  int64_t base_index_ = 0;  // elements before this iterator's first one
  Delivered delivered_;
};

}  // namespace penstock
