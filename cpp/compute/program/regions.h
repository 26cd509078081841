// Rewrites programs so that they do less work for the same results.
#pragma once

#include <vector>

#include "compute/program/program.h"

namespace penstock {

// Fuses an operation that makes regions with the following operations that need only a region of
// its output, or process rows independently. Unneeded parts are not made, and the rest is made
// strip by strip. `steps` are numbered; `results` are the values that the program returns.
// `reduce`: a decoder that supports lower resolutions uses the one that the following resize needs.
std::vector<ProgramStep> WithRegions(std::vector<ProgramStep> steps,
                                     const std::vector<int>& results, bool reduce);

}  // namespace penstock
