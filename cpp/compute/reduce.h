// Reductions along axes with the loops of a binary function.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compute/elementwise.h"

namespace penstock {

struct Reduction {
  std::string name;  // for errors
  std::shared_ptr<const LoopTable> loops;
  std::shared_ptr<const LoopTable> divide;   // for a mean: divides the sum
  std::optional<std::vector<int64_t>> axes;  // nullopt: all axes
  bool keepdims = false;
  bool of_scalars = false;  // a number without axes accepts axis 0, as in NumPy
  // The type of sums and results. kSame: the input's. kSum: integers of at least 64 bits. kMean:
  // float64 for integers; float16 is summed in float32. kMeanOfInput: a mean of the input's type,
  // whose sums use 64 bits for integers, and float32 for float16.
  enum Type { kSame, kSum, kMean, kMeanOfInput } type = kSame;
};

// Visits the items in NumPy's order, so that sums of floats are rounded equally: along contiguous
// axes in one call of the loop, and row by row if the last axis is kept.
std::unique_ptr<const Op> MakeReduce(Reduction reduction);

}  // namespace penstock
