// The state of an input of a stage, for a run of its own in another thread or process.
#pragma once

#include <string>

#include "engine/dataset.h"
#include "engine/elastic.h"

namespace penstock {

// What Session::SetState takes where `part` is the whole pipeline: the run of `context`, and a
// position in `part`. RunOptions::place of that run must be that of the context.
std::string PartState(const Dataset& part, const RunContext& context,
                      const SavedPosition& position);

}  // namespace penstock
