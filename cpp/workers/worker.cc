// Starting and ending a worker process.
#include "workers/worker.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "data/error.h"
#include "runtime/fork.h"
#include "workers/library_threads.h"
#include "workers/wire.h"
#if defined(__linux__)
#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace penstock {

void WorkerAccount::SetFunctions(std::set<uint64_t> ids) {
  std::lock_guard lock(mutex_);
  functions_ = std::move(ids);
}

std::optional<WorkerReport> WorkerAccount::Report(uint64_t function) const {
  WorkerReport report{pid_, calls_.load(std::memory_order_relaxed)};
  {
    std::lock_guard lock(mutex_);
    if (!functions_.contains(function)) return std::nullopt;
    report.functions = static_cast<int64_t>(functions_.size());
  }
  std::ifstream pages(Format("/proc/{}/statm", pid_));
  int64_t all = 0, resident = 0, shared = 0;
  pages >> all >> resident >> shared;
  if (resident == 0) return std::nullopt;
#if defined(__linux__)
  static const int64_t page = sysconf(_SC_PAGESIZE);
  report.resident_bytes = resident * page;
  report.shared_bytes = shared * page;
  clockid_t clock;
  timespec time;
  if (clock_getcpuclockid(static_cast<pid_t>(pid_), &clock) == 0 &&
      clock_gettime(clock, &time) == 0) {
    report.cpu_ns = int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }
#endif
  return report;
}

bool Worker::Learn(uint64_t id, const std::shared_ptr<const std::string>& payload) {
  const bool learnt = known_.try_emplace(id, payload).second;
  if (learnt) TellFunctions();
  return learnt;
}

std::vector<uint64_t> Worker::ForgetEnded() {
  std::vector<uint64_t> ended;
  std::erase_if(known_, [&](const auto& each) {
    if (!each.second.expired()) return false;
    ended.push_back(each.first);
    return true;
  });
  if (!ended.empty()) TellFunctions();
  return ended;
}

void Worker::TellFunctions() {
  std::set<uint64_t> ids;
  for (const auto& [id, payload] : known_) ids.insert(id);
  account_->SetFunctions(std::move(ids));
}

#if defined(__linux__)
namespace {

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

// Files of this process that are closed when they are not given away.
class Opened {
 public:
  explicit Opened(int file, const char* what) : file_(file) {
    if (file < 0) ThrowRefused(what);
  }
  ~Opened() {
    if (file_ >= 0) close(file_);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  int get() const { return file_; }
  int Release() { return std::exchange(file_, -1); }

 private:
  int file_;
};

// The same file under a number that is none of those that the worker expects.
int Elsewhere(int file) {
  const int copy = fcntl(file, F_DUPFD_CLOEXEC, Worker::kGivenFile + 1);
  if (copy < 0 && errno == EINVAL) errno = EMFILE;  // the limit is below this number
  return copy;
}

class SpawnPlan {
 public:
  SpawnPlan() {
    posix_spawn_file_actions_init(&files_);
    posix_spawnattr_init(&attributes_);
    // A group of its own, so that Ctrl-C in a terminal reaches this process only.
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

SharedHeap* g_heap = nullptr;
std::mutex g_heap_mutex;  // a leaf lock

IdleCleanup g_heap_cleanup([] {
  SharedHeap* heap;
  {
    std::lock_guard lock(g_heap_mutex);
    heap = g_heap;
  }
  return heap != nullptr && heap->ReleaseUnused();
});

// A fork child makes another heap: this one goes on to belong to its parent.
void MindForks() {
  static const bool installed = [] {
    HoldAcrossFork(g_heap_mutex);
    OnForkChild([] { g_heap = nullptr; });
    return true;
  }();
  static_cast<void>(installed);
}

}  // namespace

SharedHeap& OwnHeap() {
  MindForks();
  std::lock_guard lock(g_heap_mutex);
  if (!g_heap) {
    Opened file(MakeHeapFile(), "shared memory");
    g_heap = new SharedHeap(file.get(), &g_heap_cleanup);
    file.Release();
  }
  return *g_heap;
}

void UseOwnHeap(int file) {
  MindForks();
  std::lock_guard lock(g_heap_mutex);
  g_heap = new SharedHeap(file, &g_heap_cleanup);
}

std::unique_ptr<Worker> Worker::Start(const std::vector<std::string>& command, int given) {
  SharedHeap& own = OwnHeap();
  const NoForks no_forks;
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0) ThrowRefused("a socket");
  Opened ours(sockets[0], "a socket"), theirs(sockets[1], "a socket");
  Opened heap(MakeHeapFile(), "shared memory");
  // Under numbers that no dup2 below overwrites.
  Opened socket(Elsewhere(theirs.get()), "a file");
  Opened lent(Elsewhere(own.file()), "a file");
  Opened made(Elsewhere(heap.get()), "a file");
  SpawnPlan plan;
  plan.Give(socket.get(), kSocketFile);
  plan.Give(lent.get(), kParentHeapFile);
  plan.Give(made.get(), kOwnHeapFile);
  std::optional<Opened> more;
  if (given >= 0) plan.Give(more.emplace(Elsewhere(given), "a file").get(), kGivenFile);
  const pid_t pid = plan.Run(command);
  return std::unique_ptr<Worker>(new Worker(ours.Release(), heap.Release(), pid, no_forks));
}

Worker::~Worker() {
  Kill();
  heap_.OwnerEnded();
  for (const Stretch& stretch : lent_) OwnHeap().Forget(stretch);
  for (const auto& request : requests) {
    for (const Stretch& stretch : request) OwnHeap().Forget(stretch);
  }
}

bool Worker::HasEnded() const {
  siginfo_t ended{};
  if (pid_ < 0) return true;
  if (waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) < 0) {
    return errno != EINTR;
  }
  return ended.si_pid != 0;
}

void Worker::End(std::vector<std::unique_ptr<Worker>> workers) {
  constexpr MonoTime kPatienceNs = 5'000'000'000;
  for (auto& worker : workers) {
    MessageWriter end(MessageKind::kEnd, worker->channel());
    worker->channel().Send(end.Finish(OwnHeap(), worker->lent()));
  }
  const MonoTime deadline = NowNs() + kPatienceNs;
  auto ended = [](const auto& worker) { return worker->HasEnded(); };
  while (!std::ranges::all_of(workers, ended) && NowNs() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

void Worker::Kill() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

std::string Worker::HowItEnded() {
  // A function that has closed the files of its process is still running.
  constexpr int kPatience = 100;  // looks, 10 ms apart
  int status = 0;
  pid_t ended = 0;
  for (int i = 0; ended == 0 || (ended < 0 && errno == EINTR); ++i) {
    if (i == kPatience) kill(pid_, SIGKILL);
    ended = waitpid(pid_, &status, i < kPatience ? WNOHANG : 0);
    if (ended == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  pid_ = -1;
  if (ended < 0) return "has ended";  // someone else has asked for its status
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const char* name = sigabbrev_np(signal);
    return Format("was ended by signal {} ({}{})", signal, std::string_view(name ? "SIG" : ""),
                  std::string_view(name ? name : "unknown"));
  }
  return Format("has left with exit code {}", WEXITSTATUS(status));
}

#else

SharedHeap& OwnHeap() {
  throw Error(ErrorKind::kWorker, "worker processes: they need Linux; use executor='thread'");
}
void UseOwnHeap(int) {}
std::unique_ptr<Worker> Worker::Start(const std::vector<std::string>&, int) {
  OwnHeap();
  return nullptr;
}
Worker::~Worker() = default;
void Worker::Kill() {}
bool Worker::HasEnded() const { return true; }
void Worker::End(std::vector<std::unique_ptr<Worker>>) {}
std::string Worker::HowItEnded() { return ""; }

#endif

}  // namespace penstock
