// Programs with the same results that do less.
#pragma once

#include <vector>

#include "pipeline/program.h"

namespace penstock {

// An image of which only a window is used is only made there. `steps` are numbered; `results` are
// the values that the program returns.
std::vector<ProgramStep> WithFusedCrops(std::vector<ProgramStep> steps,
                                        const std::vector<int>& results);

}  // namespace penstock
