// Packed integers of protocol buffers' wire format, for each set of instructions.
// https://protobuf.dev/programming-guides/encoding/#packed
#pragma once

#include <cstdint>

#include "runtime/instruction_set.h"

namespace penstock {

// Reads the numbers in [at, end), 7 bits to a byte: writes them from `out` on and returns where
// they end. The last byte ends a number. The eight bytes before `at` may be read, too. Throws a
// WireError for a number of more than ten bytes.
using ReadNumbers = int64_t* (*)(const uint8_t* at, const uint8_t* end, int64_t* out);

ReadNumbers ReadNumbersOf(InstructionSet set);

}  // namespace penstock
