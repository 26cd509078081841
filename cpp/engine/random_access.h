// One element of a plan by its position, without the elements before it.
#pragma once

#include <vector>

#include "engine/dataset.h"

namespace penstock {

using Positions = std::vector<int64_t>;

// A stage that can make the element at a position from elements of its inputs by their positions.
class RandomAccess {
 public:
  virtual ~RandomAccess() = default;
  // Whether it can, for the inputs that it has.
  virtual bool has_random_access() const { return true; }
  // What an iterator gives as its step `index`: 0 <= index < cardinality().
  virtual Step At(int64_t index, const RunContext& context) const = 0;
  // The same of several positions, in their order: rows, then perhaps an error; at least one step,
  // and no more than there are positions. One after the other unless a stage has a faster way.
  virtual Block Gather(const Positions& positions, const RunContext& context) const;
};

// The stage furthest from the source without random access; null when all have it.
const Dataset* StageWithoutRandomAccess(const Dataset& dataset);

// The element of a plan whose stages all have random access.
Step ElementAt(const Dataset& dataset, int64_t index, const RunContext& context);
// Of a plan whose stages all have random access, as RandomAccess::Gather. A position that the plan
// has not is an error.
Block ElementsAt(const Dataset& dataset, const Positions& positions, const RunContext& context);
// An element of input i, on this stage's behalf.
Step InputAt(const Dataset& stage, int64_t index, const RunContext& context, size_t i = 0);
// Elements of the input at positions that follow from those of this stage.
template <typename PositionOf>
Block InputsAt(const Dataset& stage, Positions positions, const RunContext& context,
               PositionOf position_of) {
  for (int64_t& position : positions) position = position_of(position);
  return ElementsAt(stage.input(), positions, context);
}
// What `function` makes of an element of the input, and of several.
Step MapAt(const Dataset& stage, const PlannedFunction& function, int64_t index,
           const RunContext& context);
Block MapAt(const Dataset& stage, const PlannedFunction& function, const Positions& positions,
            const RunContext& context);

}  // namespace penstock
