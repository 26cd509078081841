// The error of a step in whose middle memory ran out.
#pragma once

#include <string_view>

#include "data/error.h"

namespace penstock {

// A MemoryError that ends the run. Memory may run out between any two changes of what belongs
// together, so a stage that it happened in is not asked again: the error passes through all others
// as a cancellation does, uncounted, and whoever asked keeps it. Where there is no memory for the
// name of the stage it says less.
Error OutOfMemory(std::string_view stage) noexcept;

// Whether an error is such a one: a cancellation that says why.
bool EndsRun(const Error& error);

}  // namespace penstock
