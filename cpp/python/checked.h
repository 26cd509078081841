// A native program whose first results are compared with those of the function it was traced from.
#pragma once

#include "compute/function.h"
#include "python/python.h"

namespace penstock {

// For the first `count` elements of each iteration, calls `compare(index, made, wanted)` with both
// results; it raises if they differ. Results that are errors are passed as exceptions. `exact`: the
// program to compare instead of `program`, whose results are not bit-identical to the plain
// function; null: compare `program` itself.
FunctionPtr MakeChecked(FunctionPtr program, FunctionPtr exact, FunctionPtr plain, int64_t count,
                        PyRef compare);

}  // namespace penstock
