// Random access to the elements of a plan, without the elements before them.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "engine/dataset.h"

namespace penstock {

using Positions = std::vector<int64_t>;

// A stage that can produce the element at a position from elements of its inputs at known
// positions.
class RandomAccess {
 public:
  virtual ~RandomAccess() = default;
  // Whether it can, given its inputs.
  virtual bool has_random_access() const { return true; }
  // The element that an iterator emits as step `index`: 0 <= index < cardinality().
  virtual Step At(int64_t index, const RunContext& context) const = 0;
  // The elements at several positions, in order: rows, optionally followed by an error; at least
  // one step, at most one per position. Calls At for each position unless the stage has a faster
  // way.
  virtual Block Gather(const Positions& positions, const RunContext& context) const;
  // The positions in input `input` needed for the elements at `positions`, in order of use; empty
  // if unknown. A hint for reading ahead.
  virtual Positions InputPositions(const Positions& positions, size_t input,
                                   const RunContext& context) const;
};

// The decoded rows of one source, kept by a Lookahead. Used by one thread.
class DecodedRows {
 public:
  virtual ~DecodedRows() = default;
  // Limits the bytes to keep.
  virtual void SetLimit(int64_t bytes) = 0;
  virtual int64_t bytes() const = 0;
  // The number of next positions to pass to LookAhead; 0 while all groups fit within the limit, or
  // if their size is not known yet.
  virtual int64_t window() const = 0;
  // Decodes each group that contains these positions once. Keeps their rows, and drops those of the
  // previous call.
  virtual void LookAhead(Positions positions, const RunContext& context) = 0;
};

// A source that decodes groups of rows.
class DecodedGroups {
 public:
  virtual ~DecodedGroups() = default;
  // The decoded rows for requests with one Lookahead (in RunContext). They refer to the source.
  virtual std::unique_ptr<DecodedRows> NewRows() const = 0;
};

// The first stage without random access, searching depth first from `dataset`; null if all have it.
const Dataset* StageWithoutRandomAccess(const Dataset& dataset);

// The element of a plan whose stages all have random access.
Step ElementAt(const Dataset& dataset, int64_t index, const RunContext& context);
// The same for several positions, as RandomAccess::Gather. A position out of range is an error.
Block ElementsAt(const Dataset& dataset, const Positions& positions, const RunContext& context);
template <typename PositionOf>
Positions Moved(Positions positions, PositionOf position_of) {
  for (int64_t& position : positions) position = position_of(position);
  return positions;
}
// An element of input i, with that input's context.
Step InputAt(const Dataset& stage, int64_t index, const RunContext& context, size_t i = 0);
// Elements of the input at positions computed from those of this stage.
template <typename PositionOf>
Block InputsAt(const Dataset& stage, Positions positions, const RunContext& context,
               PositionOf position_of) {
  return ElementsAt(stage.input(), Moved(std::move(positions), position_of), context);
}
// The results of `function` for one or several elements of the input.
Step MapAt(const Dataset& stage, const PlannedFunction& function, int64_t index,
           const RunContext& context);
Block MapAt(const Dataset& stage, const PlannedFunction& function, const Positions& positions,
            const RunContext& context);

}  // namespace penstock
