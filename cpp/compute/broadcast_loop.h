// Runs a loop over operands that are broadcast against each other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "compute/elementwise.h"
#include "data/tensor.h"

namespace penstock {

constexpr size_t kMostOperands = 4;

// One operand of a loop: its beginning, and the distance between items on each axis.
struct Strided {
  char* data;
  std::array<intptr_t, kMaxRank> strides{};
};
using Operands = std::array<Strided, kMostOperands>;

// `from` broadcast to `shape`.
Strided Broadcast(const uint8_t* data, const Shape& from, size_t item, const Shape& shape);

// A copy of an operand with one item for each item of `shape`.
Tensor WrittenOut(const Strided& operand, DType type, const Shape& shape);

// Runs `loop` over all items of `shape`. `exact`: the loop's results do not depend on how many
// items it receives per call. Repeated rows (three channels against an image) are then copied
// several times, so that each call of the loop covers many rows.
void RunBroadcast(const LoopTable::Loop& loop, const Operands& operands, const Shape& shape,
                  bool exact);

}  // namespace penstock
