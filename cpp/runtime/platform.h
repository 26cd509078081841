// What a file may use beyond standard C++. All else must compile everywhere.
#pragma once

// PENSTOCK_PORTABLE leaves out what only Linux, GCC or some CPUs have, so that the tests run on
// Linux what other systems run. What POSIX has and others do not (fork, signals) stays: it has no
// other form.
#if defined(__linux__) && !defined(PENSTOCK_PORTABLE)
#define PENSTOCK_LINUX 1
#endif
#if defined(__unix__) || defined(__APPLE__)
#define PENSTOCK_POSIX 1
#endif
#if defined(__GNUC__) && !defined(PENSTOCK_PORTABLE)
#define PENSTOCK_GNU 1
#endif

// Clang says it by __has_feature, GCC by a macro.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PENSTOCK_TSAN 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define PENSTOCK_TSAN 1
#endif

namespace penstock {

// Lets the CPU fetch the cache line at `address`, which may be any, in the background.
inline void Prefetch([[maybe_unused]] const void* address) {
#if defined(PENSTOCK_GNU)
  __builtin_prefetch(address);
#endif
}

}  // namespace penstock
