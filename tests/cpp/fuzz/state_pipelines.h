// The pipelines whose states are fuzzed.
#pragma once

#include <vector>

#include "engine/dataset.h"

namespace penstock::fuzz {

struct Pipeline {
  DatasetPtr data;
  // Passing over steps need not end by itself, but when the run is closed.
  bool endless = false;
};

// With every stage that needs no foreign runtime. Inputs name them by their numbers: new ones come
// at the end.
const std::vector<Pipeline>& Pipelines();

// Forgets the datasets that windows were of.
void ForgetWindows();

}  // namespace penstock::fuzz
