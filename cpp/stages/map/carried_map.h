// The state of a map, for another number of shards before it.
#pragma once

#include "engine/elastic.h"

namespace penstock {

// As Elastic::CarryState, for the states that maps of all forms have.
void CarryMapState(const Dataset& stage, StateVisitor* saved, int64_t& steps, std::string& out,
                   Carrying& carrying);

}  // namespace penstock
