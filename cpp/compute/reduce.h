// Operations that make one value of many along axes, by the loops of a function of two values.
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
  std::shared_ptr<const LoopTable> divide;   // for a mean: what the sum is divided with
  std::optional<std::vector<int64_t>> axes;  // none: all
  bool keepdims = false;
  bool of_scalars = false;  // a number without axes may be given axis 0, as in NumPy
  // The type of sums and results: kSame, that of the input; kSum, at least 64 bits of an integer;
  // kMean, float64 for integers, and float32 for the sums of float16; kMeanOfInput, a mean of the
  // input's type, of sums that hold it: of 64 bits for integers, of float32 for float16.
  enum Type { kSame, kSum, kMean, kMeanOfInput } type = kSame;
};

// Goes through the items as NumPy does, so that sums of floats have the same rounding: along
// contiguous axes at once, and where the last axis stays, row by row.
std::unique_ptr<const Op> MakeReduce(Reduction reduction);

}  // namespace penstock
