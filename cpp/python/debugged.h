// A native program that is run as the plain function it was traced from, when a run is debugged.
#pragma once

#include "compute/function.h"

namespace penstock {

FunctionPtr MakeDebugged(FunctionPtr program, FunctionPtr plain);

}  // namespace penstock
