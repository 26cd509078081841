// The steps of a program, each run once for all rows of a block.
#pragma once

#include <vector>

#include "compute/program/program.h"

namespace penstock {

// A step with what is known of it before anything runs.
struct Instruction {
  ProgramStep step;
  std::vector<bool> last;  // whether it is the last one to use that input
  int leaf = -1;           // of the result, when its output is that leaf and no other
};

// Runs the steps on values by number. The values of arguments and constants are given, and perhaps
// the results of some steps; the others are constant until they are made. False when a step does
// not take rows at once; throws when one fails.
bool RunAtOnce(const std::vector<Instruction>& steps, int64_t rows, std::vector<Column>& values);

}  // namespace penstock
