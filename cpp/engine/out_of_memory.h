// The error of a step during which memory ran out.
#pragma once

#include <cstdint>
#include <string_view>

#include "data/error.h"

namespace penstock {

// A MemoryError that ends the run. Memory may run out between two changes that belong together, so
// the stage where it happened is not asked again. The error passes through all other stages as a
// cancellation does, uncounted, and the caller keeps it. Without memory for the name of the stage
// the message is shorter.
Error OutOfMemory(std::string_view stage) noexcept;

// Whether an error is one of these: a cancellation that says why.
bool EndsRun(const Error& error);

// A number of undelivered steps for Session::SetUndelivered: the run has ended without memory. Its
// state is taken from earlier saved states instead of from its stages.
inline constexpr int64_t kOfThePast = -1;

}  // namespace penstock
