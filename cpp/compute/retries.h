// Repeats calls that fail.
#pragma once

#include <string>

#include "compute/args.h"
#include "compute/function.h"

namespace penstock {

// Wraps `planned` so that failing calls are repeated, up to the argument max_retries; without that
// argument, returns `planned` itself.
PlannedFunction WithRetries(PlannedFunction planned, const Args& args);

// Whether a call that failed with `error` may be repeated.
bool MayRetry(const Error& error);
// Counts a repeated call.
void CountRetry(const CallInfo& info);
// Adds a note with the number of failed attempts.
void NoteTries(Error& error, int64_t retries);

}  // namespace penstock
