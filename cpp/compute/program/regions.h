// Programs with the same results that do less.
#pragma once

#include <vector>

#include "compute/program/program.h"

namespace penstock {

// An operation that makes regions, and those after it that need a region of its output or take each
// row by itself, become one: what they do not need is not made, and the rest strip by strip.
// `steps` are numbered; `results` are the values that the program returns.
std::vector<ProgramStep> WithRegions(std::vector<ProgramStep> steps,
                                     const std::vector<int>& results);

}  // namespace penstock
