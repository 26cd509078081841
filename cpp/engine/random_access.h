// One element of a plan by its position, without the elements before it.
#pragma once

#include <memory>
#include <utility>
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
  // The positions in input `input` that the elements at `positions` are made of, in the order in
  // which they are needed; empty if unknown. Only a hint for reading ahead.
  virtual Positions InputPositions(const Positions& positions, size_t input,
                                   const RunContext& context) const;
};

// The decoded rows of one source that a Lookahead keeps. Used by one thread.
class DecodedRows {
 public:
  virtual ~DecodedRows() = default;
  // Keeps at most that many bytes.
  virtual void SetLimit(int64_t bytes) = 0;
  virtual int64_t bytes() const = 0;
  // The number of the next positions to pass to LookAhead; 0 while all groups fit into the limit,
  // or their size is not known yet.
  virtual int64_t window() const = 0;
  // Decodes each group with rows at these positions once. Keeps the rows, and drops those of the
  // previous call.
  virtual void LookAhead(Positions positions, const RunContext& context) = 0;
};

// A source that decodes groups of rows.
class DecodedGroups {
 public:
  virtual ~DecodedGroups() = default;
  // The decoded rows for the requests with one Lookahead (in RunContext). They refer to the source.
  virtual std::unique_ptr<DecodedRows> NewRows() const = 0;
};

// The stage furthest from the source without random access; null when all have it.
const Dataset* StageWithoutRandomAccess(const Dataset& dataset);

// The element of a plan whose stages all have random access.
Step ElementAt(const Dataset& dataset, int64_t index, const RunContext& context);
// Of a plan whose stages all have random access, as RandomAccess::Gather. A position that the plan
// has not is an error.
Block ElementsAt(const Dataset& dataset, const Positions& positions, const RunContext& context);
// Maps each position.
template <typename PositionOf>
Positions Moved(Positions positions, PositionOf position_of) {
  for (int64_t& position : positions) position = position_of(position);
  return positions;
}
// An element of input i, on this stage's behalf.
Step InputAt(const Dataset& stage, int64_t index, const RunContext& context, size_t i = 0);
// Elements of the input at positions that follow from those of this stage.
template <typename PositionOf>
Block InputsAt(const Dataset& stage, Positions positions, const RunContext& context,
               PositionOf position_of) {
  return ElementsAt(stage.input(), Moved(std::move(positions), position_of), context);
}
// What `function` makes of an element of the input, and of several.
Step MapAt(const Dataset& stage, const PlannedFunction& function, int64_t index,
           const RunContext& context);
Block MapAt(const Dataset& stage, const PlannedFunction& function, const Positions& positions,
            const RunContext& context);

}  // namespace penstock
