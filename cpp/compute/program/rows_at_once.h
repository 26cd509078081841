// Runs each step of a program once for all rows of a block.
#pragma once

#include <vector>

#include "compute/program/program.h"

namespace penstock {

// A step, and what is known about it before it runs.
struct Instruction {
  ProgramStep step;
  std::vector<bool> last;  // for each input, whether this step is the last one to use it
  int leaf = -1;           // the only leaf of the result that is its output; -1: none
};

// Runs the steps on numbered values. The values of arguments and constants are set, and perhaps the
// results of some steps; the others are constant until they are computed. False if a step cannot
// process several rows; throws if one fails.
bool RunAtOnce(const std::vector<Instruction>& steps, int64_t rows, std::vector<Column>& values);

}  // namespace penstock
