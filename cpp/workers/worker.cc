// Starts and ends a worker process.
#include "workers/worker.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "data/error.h"
#include "runtime/fork.h"
#include "workers/spawn.h"
#include "workers/wire.h"
#if defined(__linux__)
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

// A fork child creates another heap: this one remains its parent's.
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
    OpenedFile file(MakeHeapFile(), "shared memory");
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

std::unique_ptr<Worker> Worker::Start(const WorkerCommand& command, const CancelToken* cancel,
                                      int given) {
  SharedHeap& own = OwnHeap();
  const std::unique_ptr<ForkServer::Turn> server = ForkServer::Get().Take(command, cancel);
  std::unique_ptr<Worker> worker;
  bool asked = false;
  {
    const NoForks no_forks;
    auto [end, other] = MakeSockets(SOCK_STREAM);
    OpenedFile ours(end, "a socket"), theirs(other, "a socket");
    OpenedFile heap(MakeHeapFile(), "shared memory");
    const int made = heap.get();
    worker.reset(new Worker(ours.get(), made, no_forks));
    ours.Release();
    heap.Release();
    if (server) {
      std::vector<int> files = {STDOUT_FILENO, STDERR_FILENO, theirs.get(), own.file(), made};
      if (given >= 0) files.push_back(given);
      asked = server->Ask(command.entry, files);
    }
    if (!asked) {
      std::vector<std::pair<int, int>> files = {
          {theirs.get(), kSocketFile}, {own.file(), kParentHeapFile}, {made, kOwnHeapFile}};
      if (given >= 0) files.emplace_back(given, kGivenFile);
      worker->Begin(SpawnProgram(command.spawn, files));
    }
  }
  if (!asked) return worker;
  if (const std::optional<int> pid = server->Answer(cancel)) {
    worker->Begin(*pid);
    return worker;
  }
  return Start({command.spawn, {}, {}}, cancel, given);
}

void Worker::Begin(int pid) {
  pid_ = pid;
  account_ = std::make_shared<WorkerAccount>(pid);
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

namespace {

// The most frequent fatal signals. (glibc has sigabbrev_np() since 2.32, musl does not.)
std::string_view SignalName(int signal) {
  switch (signal) {
    case SIGABRT:
      return "SIGABRT";
    case SIGBUS:
      return "SIGBUS";
    case SIGFPE:
      return "SIGFPE";
    case SIGHUP:
      return "SIGHUP";
    case SIGILL:
      return "SIGILL";
    case SIGINT:
      return "SIGINT";
    case SIGKILL:
      return "SIGKILL";
    case SIGPIPE:
      return "SIGPIPE";
    case SIGQUIT:
      return "SIGQUIT";
    case SIGSEGV:
      return "SIGSEGV";
    case SIGTERM:
      return "SIGTERM";
    case SIGXCPU:
      return "SIGXCPU";
    default:
      return "unknown";
  }
}

}  // namespace

void Worker::Kill() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

std::string Worker::HowItEnded() {
  // A process whose function closed its files is still running.
  constexpr int kPatience = 100;  // number of polls, 10 ms apart
  int status = 0;
  pid_t ended = 0;
  for (int i = 0; ended == 0 || (ended < 0 && errno == EINTR); ++i) {
    if (i == kPatience) kill(pid_, SIGKILL);
    ended = waitpid(pid_, &status, i < kPatience ? WNOHANG : 0);
    if (ended == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  pid_ = -1;
  if (ended < 0) return "has ended";  // another caller has reaped the process
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    // The wording of PyTorch's DataLoader, because programs that restart jobs search for it.
    return Format("is killed by signal: {} ({})", SignalName(signal), signal);
  }
  return Format("has left with exit code {}", WEXITSTATUS(status));
}

#else

SharedHeap& OwnHeap() {
  throw Error(ErrorKind::kWorker, "worker processes: they need Linux; use executor='thread'");
}
void UseOwnHeap(int) {}
std::unique_ptr<Worker> Worker::Start(const WorkerCommand&, const CancelToken*, int) {
  OwnHeap();
  return nullptr;
}
Worker::~Worker() = default;
void Worker::Begin(int) {}
void Worker::Kill() {}
bool Worker::HasEnded() const { return true; }
void Worker::End(std::vector<std::unique_ptr<Worker>>) {}
std::string Worker::HowItEnded() { return ""; }

#endif

}  // namespace penstock
