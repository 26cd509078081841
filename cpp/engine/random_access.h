// One element of a plan by its position, without the elements before it.
#pragma once

#include "engine/dataset.h"

namespace penstock {

// A stage that can make the element at a position from elements of its inputs by their positions.
class RandomAccess {
 public:
  virtual ~RandomAccess() = default;
  // Whether it can, for the inputs that it has.
  virtual bool has_random_access() const { return true; }
  // What an iterator gives as its step `index`: 0 <= index < cardinality().
  virtual Step At(int64_t index, const RunContext& context) const = 0;
};

// The stage furthest from the source without random access; null when all have it.
const Dataset* StageWithoutRandomAccess(const Dataset& dataset);

// The element of a plan whose stages all have random access.
Step ElementAt(const Dataset& dataset, int64_t index, const RunContext& context);
// An element of input i, on this stage's behalf.
Step InputAt(const Dataset& stage, int64_t index, const RunContext& context, size_t i = 0);
// What `function` makes of an element of the input.
Step MapAt(const Dataset& stage, const PlannedFunction& function, int64_t index,
           const RunContext& context);

}  // namespace penstock
