// The stack size that a plan needs, and the error if a thread has less left.
#pragma once

#include <cstdint>

namespace penstock {

// Operations that recurse through stages, with the maximum bytes of stack per stage (checked by
// tests/test_deep_plans.py): inspecting the plan; starting and destroying; pulling, which needs
// more than saving and restoring.
enum class StackUse : int64_t { kPlan = 256, kStart = 1536, kRun = 3584 };

// The stack needed for `stages` stages, and the number of stages that fit in `bytes`.
int64_t StackFor(StackUse use, int64_t stages);
int64_t StagesIn(StackUse use, int64_t bytes);

// Whether the rest of this thread's stack is enough for `stages` stages, plus a reserve for
// functions and codecs.
bool StackCarries(StackUse use, int64_t stages);
// Throws Error(kRecursion) if not.
void RequireStack(StackUse use, int64_t stages);
// The same for stages that already ran in `bytes` bytes: a thread that is now a few calls deeper is
// not refused.
void RequireStackAgain(int64_t bytes);

}  // namespace penstock
