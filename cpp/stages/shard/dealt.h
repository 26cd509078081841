// Shards that were filled up by "repeat" already, with padding instead of what was repeated.
#pragma once

#include <memory>

#include "stages/shard/dealing.h"

namespace penstock {

// Over a shard of `length` elements: for inputs in which shard_evenly chooses rows before they are
// fetched.
std::shared_ptr<Dataset> MakeDealt(const Dealing& dealing, int64_t length);

}  // namespace penstock
