// The stack of a thread: how much is left, and that the engine's threads have enough.
#include "runtime/stack.h"

#include <pthread.h>

#include <cstdlib>
#include <thread>

#include "check.h"
#include "runtime/native_thread.h"
#include "runtime/platform.h"
#include "runtime/pump.h"

namespace penstock {
namespace {

#if defined(PENSTOCK_LINUX)

struct Found {
  int64_t left = 0;
  int64_t size = 0;
};

// Measures on a new thread with a stack of `bytes`.
Found OnStack(size_t bytes) {
  Found found;
  pthread_attr_t attributes;
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setstacksize(&attributes, bytes) == 0);
  pthread_t thread;
  auto look = [](void* into) -> void* {
    *static_cast<Found*>(into) = {StackLeft(), StackSize()};
    return nullptr;
  };
  CHECK(pthread_create(&thread, &attributes, look, &found) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  return found;
}

TEST(Stack_left_follows_the_thread) {
  // Large stacks, because a sanitizer takes some of the stack and adds some for itself.
  constexpr int64_t kAside = 2 << 20;
  for (size_t megabytes : {16, 48}) {
    const size_t bytes = megabytes << 20;
    const Found found = OnStack(bytes);
    CHECK(found.size <= static_cast<int64_t>(bytes) + kAside);
    CHECK(found.left < found.size);
    CHECK(found.left > static_cast<int64_t>(bytes) * 3 / 4);
  }
}

[[gnu::noinline]] int64_t LeftBelow(int frames) {
  volatile char use[2048] = {};
  use[0] = 1;
  const int64_t left = frames == 0 ? StackLeft() : LeftBelow(frames - 1);
  return left + use[1];
}

TEST(Stack_left_shrinks_with_each_call) {
  const int64_t all = StackLeft();
  const int64_t used = all - LeftBelow(50);
  CHECK(used > 50 * 2048);
  CHECK(used < int64_t{1} << 20);
}

TEST(Stack_left_is_known_on_the_first_thread) {
  CHECK(StackLeft() > 0);
  CHECK(StackSize() < kUnknownStack);
}

TEST(Stack_of_native_threads_has_its_size) {
  int64_t left = 0;
  Pump(Lane::kNative, "test", [&] { left = StackLeft(); }).Join();
  CHECK(left > kThreadStack * 3 / 4);
  CHECK(left <= kThreadStack + (int64_t{1} << 20));
}

#else

TEST(Stack_left_is_plenty_where_nobody_says) { CHECK(StackLeft() > 0); }

#endif

}  // namespace
}  // namespace penstock
