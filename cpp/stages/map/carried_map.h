// Converts the state of a map to another number of shards.
#pragma once

#include "engine/elastic.h"

namespace penstock {

// See Elastic::CarryState; for the state format shared by all forms of map.
void CarryMapState(const Dataset& stage, StateVisitor* saved, int64_t& steps, std::string& out,
                   Carrying& carrying);

}  // namespace penstock
