// One input step is one output step; only steps delivered out of order have no elastic position.
#include "stages/map/carried_map.h"

#include <algorithm>

#include "data/error.h"

namespace penstock {

void CarryMapState(const Dataset& stage, StateVisitor* saved, int64_t& steps, std::string& out,
                   Carrying& carrying) {
  int64_t index = 0;
  SavedPosition input;
  std::vector<int64_t> ahead;
  if (saved) {
    saved->Count(index, "elements given");
    input = SavedPosition::Read(*saved);
    saved->Ints(ahead);
  }
  if (!ahead.empty()) {
    throw Error(ErrorKind::kInvalidArgument,
                "set_state: elements of {} were delivered out of order (deterministic=False), so "
                "only the same number of shards, with batches of the same size, can go on there",
                stage.name());
  }
  const int64_t after = steps;
  input.steps = StepsMore(input.steps, after);
  Carry(stage.input(), input, carrying);
  steps = std::min(input.steps, after);
  index = std::min(StepsMore(index, after - steps), StateVisitor::kMostCount);
  StateVisitor to(&out);
  to.Count(index, "elements given");
  input.Write(to);
  to.Ints(ahead);
}

}  // namespace penstock
