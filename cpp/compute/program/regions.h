// Rewrites programs so that they do less for the same results.
#pragma once

#include <vector>

#include "compute/program/program.h"

namespace penstock {

// An operation that makes regions becomes one step with the operations after it that need only a
// region of its output or take each row by itself. What they do not need is not made, and the rest
// is made strip by strip. `steps` are numbered; `results` are the values that the program returns.
// `reduce`: a decoder that may choose its resolution takes that which the resize after it needs.
std::vector<ProgramStep> WithRegions(std::vector<ProgramStep> steps,
                                     const std::vector<int>& results, bool reduce);

}  // namespace penstock
