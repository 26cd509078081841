// A traced function: operations in order, which map and other stages run without a foreign runtime.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "compute/function.h"
#include "compute/op.h"

namespace penstock {

// One call of an operation. Values are numbered: first the leaves of the element, then the
// constants, then the outputs of the steps in order.
struct ProgramStep {
  std::shared_ptr<const Op> op;
  std::vector<int> inputs;
  std::optional<uint64_t> seed;  // the user's seed for a random operation
  int output = 0;                // number of the first output; set by MakeProgram
  uint64_t draw = 0;             // number of an unseeded random operation; likewise
};

struct ProgramPlan {
  StructureRef element = Structure::Leaf();
  std::vector<Tensor> constants;
  std::vector<ProgramStep> steps;
  StructureRef result = Structure::Leaf();
  std::vector<int> results;  // the values that become the leaves of the result
  FunctionPtr reader;        // opens the result as a dataset; null: it is an element
  bool exact = false;        // results must equal those of the separate operations bit by bit
};

// Runs a plan for each row. Rows that are already stacked stay stacked if every operation supports
// it. Otherwise each row goes through all steps before the next one does, and the last step writes
// into the batch's slab if there is one.
FunctionPtr MakeProgram(ProgramPlan plan);

}  // namespace penstock
