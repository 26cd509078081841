// Packed integers of protocol buffers' wire format, for each instruction set.
// https://protobuf.dev/programming-guides/encoding/#packed
#pragma once

#include <cstdint>

#include "runtime/instruction_set.h"

namespace penstock {

// Reads the numbers in [at, end), 7 bits per byte, writes them to `out`, and returns the end of the
// output. The last byte must end a number. May also read the eight bytes before `at`. Throws a
// WireError for a number of more than ten bytes.
using ReadNumbers = int64_t* (*)(const uint8_t* at, const uint8_t* end, int64_t* out);

ReadNumbers ReadNumbersOf(InstructionSet set);

}  // namespace penstock
