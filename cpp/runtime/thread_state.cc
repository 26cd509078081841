// Reads the files in /proc/self/task.
#include "runtime/thread_state.h"

#include "runtime/platform.h"

#if defined(PENSTOCK_LINUX)
#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#endif

namespace penstock {

#if defined(PENSTOCK_LINUX)

namespace {

constexpr size_t kMostRead = 128;  // threads: about 5 us each

// The contents of a small system file; "" if it does not exist.
std::string ReadShort(const char* path) {
  std::string text(512, '\0');
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  const ssize_t size = read(file, text.data(), text.size());
  close(file);
  text.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
  return text;
}

std::string OfThread(int64_t thread, const char* name) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%lld/%s", static_cast<long long>(thread), name);
  return ReadShort(path);
}

}  // namespace

// Source: the kernel's sched-stats; this is the second number.
int64_t ReadyNs(int64_t thread) {
  const std::string text = OfThread(thread, "schedstat");
  char* end = nullptr;
  std::strtoll(text.c_str(), &end, 10);
  return std::strtoll(end, nullptr, 10);
}

int64_t AllReadyNs() {
  DIR* const folder = opendir("/proc/self/task");
  if (!folder) return 0;
  std::vector<int64_t> threads;
  while (const dirent* entry = readdir(folder)) {
    const int64_t thread = std::strtoll(entry->d_name, nullptr, 10);
    if (thread > 0) threads.push_back(thread);
  }
  closedir(folder);
  const size_t step = threads.size() / kMostRead + 1;
  int64_t sum = 0;
  for (size_t i = 0; i < threads.size(); i += step) sum += ReadyNs(threads[i]);
  return sum * static_cast<int64_t>(step);
}

bool WaitsForThread(int64_t thread) {
  const std::string text = OfThread(thread, "syscall");
  return !text.empty() && text[0] >= '0' && text[0] <= '9' &&
         std::strtoll(text.c_str(), nullptr, 10) == SYS_futex;
}

#else

int64_t ReadyNs(int64_t) { return 0; }
int64_t AllReadyNs() { return 0; }
bool WaitsForThread(int64_t) { return false; }

#endif

}  // namespace penstock
