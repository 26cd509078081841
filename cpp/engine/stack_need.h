// How much of a thread's stack a plan takes, and the error where it is more than is left.
#pragma once

#include <cstdint>

namespace penstock {

// What stages do inside one another, and the bytes of stack that each of them takes for it, at most
// (tests/test_deep_plans.py holds them): looking at the plan, starting and ending, pulling (which
// saving and restoring take less than).
enum class StackUse : int64_t { kPlan = 256, kStart = 1536, kRun = 3584 };

// The bytes that `stages` stages take, and the stages that fit into `bytes`.
int64_t StackFor(StackUse use, int64_t stages);
int64_t StagesIn(StackUse use, int64_t bytes);

// Whether what is left of this thread's stack carries `stages` stages, with something to spare for
// functions and codecs.
bool StackCarries(StackUse use, int64_t stages);
// Throws Error(kRecursion) if not.
void RequireStack(StackUse use, int64_t stages);
// The same for stages that have run in `bytes` bytes before: a thread that comes in some calls
// deeper than then is not refused.
void RequireStackAgain(int64_t bytes);

}  // namespace penstock
