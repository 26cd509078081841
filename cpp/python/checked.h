// A native program whose first results are compared with those of the function it was traced from.
#pragma once

#include "compute/function.h"
#include "python/python.h"

namespace penstock {

// For the first `count` elements of each iteration, `compare(index, made, wanted)` is called with
// both results; it raises where they differ. A result that is an error is given as an exception.
FunctionPtr MakeChecked(FunctionPtr program, FunctionPtr plain, int64_t count, PyRef compare);

}  // namespace penstock
