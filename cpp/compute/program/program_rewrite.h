// Programs with the same results that do less.
#pragma once

#include <vector>

#include "compute/program/program.h"

namespace penstock {

// An image of which only a window is used is only made there. `steps` are numbered; `results` are
// the values that the program returns.
std::vector<ProgramStep> WithFusedCrops(std::vector<ProgramStep> steps,
                                        const std::vector<int>& results);

// A step that makes its output in strips, and those behind it that take each row by itself, become
// one that goes through all of them with one strip after the other.
std::vector<ProgramStep> WithStrips(std::vector<ProgramStep> steps,
                                    const std::vector<int>& results);

}  // namespace penstock
