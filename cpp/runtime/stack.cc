// The end of a thread's stack, as each system reports it.
#include "runtime/stack.h"

#include "runtime/platform.h"

#if defined(PENSTOCK_LINUX)
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#elif defined(__APPLE__)
#include <pthread.h>
#endif

namespace penstock {
namespace {

// [low, high); both 0 if unknown.
struct StackBounds {
  uintptr_t low = 0;
  uintptr_t high = 0;
  bool asked = false;
};
constinit thread_local StackBounds this_stack;

#if defined(PENSTOCK_LINUX)

// glibc knows the limit of the first thread's stack; other C libraries report how far it has grown.
void MindLimitOfFirstThread([[maybe_unused]] StackBounds& bounds) {
#if !defined(__GLIBC__)
  rlimit limit;
  if (getpid() != gettid() || getrlimit(RLIMIT_STACK, &limit) != 0) return;
  constexpr rlim_t kUsual = rlim_t{8} << 20;
  const rlim_t size = limit.rlim_cur == RLIM_INFINITY ? kUsual : limit.rlim_cur;
  bounds.low = std::min(bounds.low, bounds.high - static_cast<uintptr_t>(size));
#endif
}

StackBounds Ask() {
  StackBounds bounds;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return bounds;
  void* low = nullptr;
  size_t size = 0, guard = 0;
  if (pthread_attr_getstack(&attributes, &low, &size) == 0 &&
      pthread_attr_getguardsize(&attributes, &guard) == 0) {
    bounds.low = reinterpret_cast<uintptr_t>(low);
    bounds.high = bounds.low + size;
    bounds.low += std::min(guard, size);  // some systems include the guard
    MindLimitOfFirstThread(bounds);
  }
  pthread_attr_destroy(&attributes);
  return bounds;
}

#elif defined(__APPLE__)

StackBounds Ask() {
  StackBounds bounds;
  bounds.high = reinterpret_cast<uintptr_t>(pthread_get_stackaddr_np(pthread_self()));
  bounds.low = bounds.high - pthread_get_stacksize_np(pthread_self());
  return bounds;
}

#else

StackBounds Ask() { return {}; }

#endif

const StackBounds& OfThisThread() {
  if (!this_stack.asked) {
    this_stack = Ask();
    this_stack.asked = true;
  }
  return this_stack;
}

// Not the address of a variable: sanitizers store variables elsewhere.
uintptr_t Here() {
#if defined(PENSTOCK_GNU)
  return reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
#else
  return 0;
#endif
}

}  // namespace

int64_t StackLeft() {
  const StackBounds& bounds = OfThisThread();
  const uintptr_t here = Here();
  if (here < bounds.low || here >= bounds.high) return kUnknownStack;
  return static_cast<int64_t>(here - bounds.low);
}

int64_t StackSize() {
  const StackBounds& bounds = OfThisThread();
  const uintptr_t here = Here();
  if (here < bounds.low || here >= bounds.high) return kUnknownStack;
  return static_cast<int64_t>(bounds.high - bounds.low);
}

}  // namespace penstock
