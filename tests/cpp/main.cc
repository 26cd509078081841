// Runs all tests, or those whose file or name contains the first argument.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>

#include "check.h"

namespace penstock::testing {
namespace {

constexpr unsigned kSecondsPerTest = 150;  // reports a hung test; ample for a loaded machine
std::atomic<int> checks_passed{0};
std::atomic<int> checks_failed{0};
const char* current_name = "";

void OnAlarm(int) {
  const char text[] = "test hangs: ";
  (void)!write(2, text, sizeof text - 1);
  (void)!write(2, current_name, std::strlen(current_name));
  (void)!write(2, "\n", 1);
  _exit(3);
}

}  // namespace

std::vector<Test>& AllTests() {
  static std::vector<Test> tests;
  return tests;
}

void Report(bool passed, const char* file, int line, const char* text) {
  (passed ? checks_passed : checks_failed).fetch_add(1, std::memory_order_relaxed);  // a count
  if (!passed) std::fprintf(stderr, "%s:%d: %s\n", file, line, text);
}

int RunAll(const char* filter) {
  std::signal(SIGALRM, OnAlarm);
  int passed = 0;
  int failed = 0;
  for (const Test& test : AllTests()) {
    if (std::strstr(test.name, filter) == nullptr && std::strstr(test.file, filter) == nullptr) {
      continue;
    }
    current_name = test.name;
    alarm(kSecondsPerTest);
    const int failed_before = checks_failed.load();
    const auto start = std::chrono::steady_clock::now();
    test.body();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    const bool ok = checks_failed.load() == failed_before;
    ok ? ++passed : ++failed;
    std::printf("%s %6.2f s  %s\n", ok ? "ok  " : "FAIL", took.count(), test.name);
    std::fflush(stdout);
  }
  std::printf("%d passed, %d failed (%d checks)\n", passed, failed,
              checks_passed.load() + checks_failed.load());
  return failed == 0 && passed > 0 ? 0 : 1;
}

}  // namespace penstock::testing

int main(int argc, char** argv) { return penstock::testing::RunAll(argc > 1 ? argv[1] : ""); }
