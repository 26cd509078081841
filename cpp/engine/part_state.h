// The state of a stage's input, for a separate run in another thread or process.
#pragma once

#include <string>

#include "engine/dataset.h"
#include "engine/elastic.h"

namespace penstock {

// Returns a state that Session::SetState accepts if `part` is the whole pipeline. It contains the
// run of `context` and a position in `part`. RunOptions::place of the new run must be the place of
// the context.
std::string PartState(const Dataset& part, const RunContext& context,
                      const SavedPosition& position);

}  // namespace penstock
