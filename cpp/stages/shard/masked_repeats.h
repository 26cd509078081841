// Shards that were filled up by "repeat" already, with padding instead of what was repeated.
#pragma once

#include <memory>

#include "stages/shard/even_sharding.h"

namespace penstock {

// Over a shard of `length` elements: for inputs in which shard_evenly chooses rows before they are
// fetched.
std::shared_ptr<Dataset> MakeMaskedRepeats(const EvenSharding& sharding, int64_t length);

}  // namespace penstock
