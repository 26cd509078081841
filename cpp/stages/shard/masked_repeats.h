// Replaces the repeated elements of shards filled with "repeat" by padding.
#pragma once

#include <memory>

#include "stages/shard/even_sharding.h"

namespace penstock {

// For a shard of `length` elements, if shard_evenly chooses rows before they are fetched.
std::shared_ptr<Dataset> MakeMaskedRepeats(const EvenSharding& sharding, int64_t length);

}  // namespace penstock
