// posix_spawn, and the errors when the system refuses.
#include "workers/spawn.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>
#include <string_view>

#include "data/error.h"
#include "workers/library_threads.h"
#if defined(__linux__)
#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>
#endif

namespace penstock {

[[noreturn]] void ThrowRefused(const char* what) {
  const int code = errno;
  const std::string_view limit =
      code == EMFILE   ? ", raise the limit on open files (ulimit -n)"
      : code == EAGAIN ? ", raise the limit on processes and threads (ulimit -u, or the pids "
                         "limit of the container)"
                       : "";
  throw Error(ErrorKind::kWorker,
              "worker processes: the system refused {}: {}; use fewer workers{}, or "
              "executor='thread'",
              std::string_view(what), std::string_view(std::strerror(code)), limit);
}

OpenedFile::OpenedFile(int file, const char* what) : file_(file) {
  if (file < 0) ThrowRefused(what);
}

#if defined(__linux__)

OpenedFile::~OpenedFile() {
  if (file_ >= 0) close(file_);
}

std::pair<int, int> MakeSockets(int type) {
  int sockets[2];
  if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, sockets) < 0) ThrowRefused("a socket");
  return {sockets[0], sockets[1]};
}

namespace {

// Duplicates a file to a number that the child's file numbers do not overwrite.
int Elsewhere(int file) {
  const int copy = fcntl(file, F_DUPFD_CLOEXEC, kFirstOwnFile);
  if (copy < 0 && errno == EINVAL) errno = EMFILE;  // the limit is below this number
  return copy;
}

class SpawnPlan {
 public:
  SpawnPlan() {
    posix_spawn_file_actions_init(&files_);
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setpgroup(&attributes_, 0);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawn_file_actions_addopen(&files_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&files_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  void Give(int file, int number) { posix_spawn_file_actions_adddup2(&files_, file, number); }
  pid_t Run(const std::vector<std::string>& command) {
    std::vector<char*> arguments;
    for (const std::string& argument : command) {
      arguments.push_back(const_cast<char*>(argument.c_str()));
    }
    arguments.push_back(nullptr);
    std::vector<std::string> limits;
    for (auto [name, value] : LibraryThreadLimits()) limits.push_back(Format("{}={}", name, value));
    std::vector<char*> environment;
    for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
      environment.push_back(*each);
    }
    for (std::string& limit : limits) environment.push_back(limit.data());
    environment.push_back(nullptr);
    pid_t pid = -1;
    const int failed = posix_spawn(&pid, arguments[0], &files_, &attributes_, arguments.data(),
                                   environment.data());
    if (failed) {
      errno = failed;
      ThrowRefused("a process");
    }
    return pid;
  }

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

}  // namespace

int SpawnProgram(const std::vector<std::string>& command,
                 const std::vector<std::pair<int, int>>& files_and_numbers) {
  SpawnPlan plan;
  std::deque<OpenedFile> files;
  for (auto [file, number] : files_and_numbers) {
    plan.Give(files.emplace_back(Elsewhere(file), "a file").get(), number);
  }
  return plan.Run(command);
}

#else

OpenedFile::~OpenedFile() = default;
std::pair<int, int> MakeSockets(int) { return {-1, -1}; }
int SpawnProgram(const std::vector<std::string>&, const std::vector<std::pair<int, int>>&) {
  return -1;
}

#endif

}  // namespace penstock
