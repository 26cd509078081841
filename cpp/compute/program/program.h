// A traced function: operations in order, which map and other stages run without a foreign runtime.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "compute/function.h"
#include "compute/op.h"

namespace penstock {

// One call of an operation. Values have numbers: first the leaves of the element, then the
// constants, then the outputs of each step in turn.
struct ProgramStep {
  std::shared_ptr<const Op> op;
  std::vector<int> inputs;
  std::optional<uint64_t> seed;  // the user's, of a random operation
  int output = 0;                // the number of the first output; MakeProgram gives it
  uint64_t draw = 0;             // the number of an unseeded random operation; likewise
};

struct ProgramPlan {
  StructureRef element = Structure::Leaf();
  std::vector<Tensor> constants;
  std::vector<ProgramStep> steps;
  StructureRef result = Structure::Leaf();
  std::vector<int> results;  // the values that become the leaves of the result
  FunctionPtr reader;        // opens the result as a dataset; null: it is an element
  bool exact = false;        // the values are those of the operations one by one, bit by bit
};

// Runs a plan for each row. Rows that are stacked already stay stacked if every operation allows
// it; otherwise each row goes through all steps before the next one does, and the last step writes
// into the batch's slab if there is one.
FunctionPtr MakeProgram(ProgramPlan plan);

}  // namespace penstock
