// Features beyond standard C++ that a file may use. All other code must compile everywhere.
#pragma once

// PENSTOCK_PORTABLE disables features specific to Linux, GCC or some CPUs, so that tests on Linux
// run the code of other systems. POSIX features that others lack (fork, signals) stay enabled: they
// have no alternative.
#if defined(__linux__) && !defined(PENSTOCK_PORTABLE)
#define PENSTOCK_LINUX 1
#endif
#if defined(__unix__) || defined(__APPLE__)
#define PENSTOCK_POSIX 1
#endif
#if defined(__GNUC__) && !defined(PENSTOCK_PORTABLE)
#define PENSTOCK_GNU 1
#endif

// Clang reports it through __has_feature, GCC by a macro.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PENSTOCK_TSAN 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define PENSTOCK_TSAN 1
#endif

namespace penstock {

// Lets the CPU fetch the cache line at `address`, which may be invalid, in the background.
inline void Prefetch([[maybe_unused]] const void* address) {
#if defined(PENSTOCK_GNU)
  __builtin_prefetch(address);
#endif
}

}  // namespace penstock
