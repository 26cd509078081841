// Converts between bytes and stages.
#include "engine/stack_need.h"

#include <algorithm>

#include "data/error.h"
#include "runtime/stack.h"

namespace penstock {
namespace {

// Sanitizers and unoptimized builds make frames larger by this factor.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    (defined(__GNUC__) && !defined(__OPTIMIZE__)) || defined(_DEBUG)
constexpr int64_t kScale = 3;
#else
constexpr int64_t kScale = 1;
#endif

// For calls made by the innermost stage: user functions, codecs, unwinding of an error.
constexpr int64_t kSpare = kScale * (48 << 10);

[[noreturn]] void ThrowTooDeep(StackUse use, int64_t stages) {
  const int64_t left = StackLeft();
  const int64_t carried = StagesIn(use, std::max<int64_t>(left - kSpare, 0));
  throw Error(ErrorKind::kRecursion,
              "this pipeline is {} stages deep, and what is left of this thread's stack ({} of {} "
              "KB) carries {}; build it with fewer stages (one map that does several steps, one "
              "concatenate of a list), or use it in a thread with a greater stack "
              "(threading.stack_size(8 << 20) before the thread is made)",
              stages, left >> 10, StackSize() >> 10, carried);
}

}  // namespace

int64_t StackFor(StackUse use, int64_t stages) {
  return kScale * static_cast<int64_t>(use) * stages;
}

int64_t StagesIn(StackUse use, int64_t bytes) { return bytes / StackFor(use, 1); }

bool StackCarries(StackUse use, int64_t stages) {
  return StackLeft() >= StackFor(use, stages) + kSpare;
}

void RequireStack(StackUse use, int64_t stages) {
  if (!StackCarries(use, stages)) ThrowTooDeep(use, stages);
}

void RequireStackAgain(int64_t bytes) {
  if (StackLeft() >= bytes + kSpare / 2) return;
  ThrowTooDeep(StackUse::kRun, StagesIn(StackUse::kRun, bytes));
}

}  // namespace penstock
