// What a micro benchmark is: a case with a name, which does its work for about a given time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::bench {

// What a case returns: nanoseconds of each unit of work, or gigabytes (10^9 bytes) of each second.
enum class Unit { kNanoseconds, kGigabytesPerSecond };

// Cases of one theme take turns, and are compared with its first one.
struct Case {
  std::string theme;
  std::string name;
  Unit unit;
  std::function<double(double seconds)> run;
};

inline std::vector<Case>& Cases() {
  static std::vector<Case> cases;
  return cases;
}

// Each file adds the cases of its theme, in order.
struct Theme {
  explicit Theme(void (*add)()) { add(); }
};

// What cannot be measured here, and why.
inline std::vector<std::string>& LeftOut() {
  static std::vector<std::string> reasons;
  return reasons;
}

// Calls work(prepare()) until work has taken `seconds`; nanoseconds of each of the `units` that one
// call does. What prepare() takes does not count.
template <typename Prepare, typename Work>
double NanosecondsEach(double seconds, int64_t units, Prepare prepare, Work work) {
  using Clock = std::chrono::steady_clock;
  double elapsed = 0;
  int64_t calls = 0;
  while (elapsed < seconds || calls == 0) {
    auto prepared = prepare();
    const auto start = Clock::now();
    work(std::move(prepared));
    elapsed += std::chrono::duration<double>(Clock::now() - start).count();
    ++calls;
  }
  return elapsed * 1e9 / static_cast<double>(calls * units);
}

template <typename Work>
double NanosecondsEach(double seconds, int64_t units, Work work) {
  return NanosecondsEach(seconds, units, [] { return 0; }, [&work](int) { work(); });
}

// Adds a case whose function does `units` units of work.
template <typename Work>
void AddTimed(const char* theme, const char* name, int64_t units, Work work) {
  Cases().push_back({theme, name, Unit::kNanoseconds, [units, work](double seconds) {
                       return NanosecondsEach(seconds, units, work);
                     }});
}

// Adds a case whose function goes over `bytes` bytes that prepare() made.
template <typename Prepare, typename Work>
void AddBytes(const char* theme, const char* name, int64_t bytes, Prepare prepare, Work work) {
  Cases().push_back(
      {theme, name, Unit::kGigabytesPerSecond, [bytes, prepare, work](double seconds) {
         return 1 / NanosecondsEach(seconds, bytes, prepare, work);
       }});
}

// The same for bytes that are there.
template <typename Work>
void AddBytes(const char* theme, const char* name, int64_t bytes, Work work) {
  Cases().push_back({theme, name, Unit::kGigabytesPerSecond, [bytes, work](double seconds) {
                       return 1 / NanosecondsEach(seconds, bytes, work);
                     }});
}

// The compiler must assume that `value` is used.
template <typename T>
void Keep(const T& value) {
#if defined(__GNUC__) || defined(__clang__)
  asm volatile("" : : "g"(&value) : "memory");
#else
  static volatile const void* sink;
  sink = &value;
#endif
}

}  // namespace penstock::bench
