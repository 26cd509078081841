// The stages of a pipeline as text, by which a state knows its own.
#pragma once

#include <string>

#include "pipeline/dataset.h"

namespace penstock {

// The names of all stages, from the sources to the end, one in a line; but for prefetch, which may
// be put in and left out between saving and restoring.
std::string PlanText(const Dataset& root);
// Throws unless the two are the same; names the first stage that differs.
void CheckSamePlan(const std::string& saved, const std::string& own);

}  // namespace penstock
