// How much of a thread's stack a plan takes, and the error when that is more than is left.
#pragma once

#include <cstdint>

namespace penstock {

// What stages do nested in one another, and the most bytes of stack that each stage takes for it
// (tests/test_deep_plans.py checks them): looking at the plan; starting and ending; pulling, which
// takes more than saving and restoring.
enum class StackUse : int64_t { kPlan = 256, kStart = 1536, kRun = 3584 };

// The bytes that `stages` stages take, and the stages that fit into `bytes`.
int64_t StackFor(StackUse use, int64_t stages);
int64_t StagesIn(StackUse use, int64_t bytes);

// Whether the rest of this thread's stack suffices for `stages` stages, with a reserve for
// functions and codecs.
bool StackCarries(StackUse use, int64_t stages);
// Throws Error(kRecursion) if not.
void RequireStack(StackUse use, int64_t stages);
// The same for stages that have run in `bytes` bytes before: a thread that is some calls deeper now
// is not refused.
void RequireStackAgain(int64_t bytes);

}  // namespace penstock
