// The pipelines whose states are fuzzed.
#pragma once

#include <vector>

#include "engine/dataset.h"

namespace penstock::fuzz {

struct Pipeline {
  DatasetPtr data;
  // Skipping steps may go on until the run is closed.
  bool endless = false;
};

// Cover every stage that needs no foreign runtime. Inputs refer to a pipeline by its number, so new
// ones go at the end.
const std::vector<Pipeline>& Pipelines();

// Forgets the datasets that the windows came from.
void ForgetWindows();

}  // namespace penstock::fuzz
