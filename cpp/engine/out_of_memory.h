// The error of a step that ran out of memory.
#pragma once

#include <cstdint>
#include <string_view>

#include "data/error.h"

namespace penstock {

// Returns a MemoryError that ends the run. Memory may run out between two changes that belong
// together, so the failed stage is not called again. The error passes through all other stages like
// a cancellation, uncounted, and the caller keeps it. If there is no memory for the name of the
// stage, the message is shorter.
Error OutOfMemory(std::string_view stage) noexcept;

// Whether an error is one of these: a cancellation with a message.
bool EndsRun(const Error& error);

// For Session::SetUndelivered: the run ended without memory. Its state is taken from earlier saved
// states instead of from its stages.
inline constexpr int64_t kOfThePast = -1;

}  // namespace penstock
