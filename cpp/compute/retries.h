// Calls that are made again when they fail.
#pragma once

#include <string>

#include "compute/args.h"
#include "compute/function.h"

namespace penstock {

// `planned` such that a call that fails is made again, up to as many times as the argument
// max_retries says; without it, `planned` itself.
PlannedFunction WithRetries(PlannedFunction planned, const Args& args);

// Whether one may make the call again that has failed with `error`.
bool MayRetry(const Error& error);
// Counts a call that is made again.
void CountRetry(const CallInfo& info);
// Says in a note how often a call was made that has failed each time.
void NoteTries(Error& error, int64_t retries);

}  // namespace penstock
