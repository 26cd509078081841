// A native program whose first results are compared with those of the function it was traced from.
#pragma once

#include "compute/function.h"
#include "python/python.h"

namespace penstock {

// For the first `count` elements of each iteration, `compare(index, made, wanted)` is called with
// both results; it raises where they differ. A result that is an error is given as an exception.
// `exact`: what is compared in the place of a program whose results are not those of the plain
// function bit by bit; null: the program itself.
FunctionPtr MakeChecked(FunctionPtr program, FunctionPtr exact, FunctionPtr plain, int64_t count,
                        PyRef compare);

}  // namespace penstock
