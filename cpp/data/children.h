// Identities of the elements of a dataset that an element was turned into.
#pragma once

#include "data/element.h"
#include "data/random.h"

namespace penstock {

// The rows become the children of `parent` from number `given` on, which moves behind them.
inline void BecomeChildren(Block& block, uint64_t parent, int64_t& given) {
  if (block.rows == 0) return;
  if (block.stacked()) {
    block.keys.resize(static_cast<size_t>(block.rows));
    for (auto& key : block.keys) key = ChildKey(parent, static_cast<uint64_t>(given++));
  } else {
    for (auto& element : block.elements) {
      element.origin.key = ChildKey(parent, static_cast<uint64_t>(given++));
    }
  }
}

}  // namespace penstock
