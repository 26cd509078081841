// Starts the fork server, sends it requests, and ends it.
#include "workers/fork_server.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <utility>

#include "data/error.h"
#include "runtime/fork.h"
#include "runtime/idle_cleanup.h"
#include "runtime/wait.h"
#include "workers/spawn.h"
#include "workers/worker.h"
#if defined(__linux__)
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace penstock {

#if defined(__linux__)
namespace {

IdleCleanup g_cleanup([] { return ForkServer::Get().EndIdle(); });
ForkServer* g_server = nullptr;
std::mutex g_server_mutex;  // a leaf lock

void EndProcess(int pid) {
  kill(pid, SIGKILL);
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// The state that a new process inherits, serialised for comparison.
std::string Inherited() {
  std::string all;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    all += *each;
    all += '\0';
  }
  char folder[4096];
  if (getcwd(folder, sizeof folder) != nullptr) all += folder;
  for (int resource = 0; resource < RLIM_NLIMITS; ++resource) {
    rlimit limit{};
    getrlimit(static_cast<__rlimit_resource>(resource), &limit);
    all += Format("\n{} {}", uint64_t{limit.rlim_cur}, uint64_t{limit.rlim_max});
  }
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  sched_getaffinity(getpid(), sizeof cpus, &cpus);
  all.append(reinterpret_cast<const char*>(&cpus), sizeof cpus);
  return all;
}

std::string Joined(const std::vector<std::string>& command) {
  std::string all;
  for (const std::string& each : command) {
    all += each;
    all += '\0';
  }
  return all;
}

}  // namespace

class ForkServer::Process {
 public:
  explicit Process(const std::vector<std::string>& command)
      : Process{NoForks(), MakeSockets(SOCK_SEQPACKET), command} {}
  ~Process() {
    // Reap the workers that nothing has waited for.
    std::string answer;
    while (owed > 0 && channel.Receive(answer, nullptr, 0) == ChannelStatus::kDone) {
      --owed;
      if (const int pid = PidOf(answer); pid > 0) EndProcess(pid);
    }
    EndProcess(pid_);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  MonoTime CpuTime() const {
    clockid_t clock;
    timespec time{};
    if (clock_getcpuclockid(pid_, &clock) == 0) clock_gettime(clock, &time);
    return MonoTime{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }
  static int PidOf(const std::string& answer) {
    int32_t pid = 0;
    if (answer.size() == sizeof pid) std::memcpy(&pid, answer.data(), sizeof pid);
    return pid;
  }

  const std::string program;
  const std::string inherited = Inherited();
  MonoTime start_cost = 0;  // the CPU time of its start; 0: not started yet
  MonoTime asked = NowNs();
  int owed = 0;  // answers still to receive

 private:
  Process(const NoForks& no_forks, std::pair<int, int> sockets,
          const std::vector<std::string>& command)
      : program(Joined(command)),
        theirs_(sockets.second, "a socket"),
        pid_(Spawned(command, sockets)),
        channel(sockets.first, no_forks) {
    close(theirs_.Release());
  }
  static int Spawned(const std::vector<std::string>& command, std::pair<int, int> sockets) {
    try {
      return SpawnProgram(command, {{sockets.second, Worker::kSocketFile}});
    } catch (...) {
      close(sockets.first);
      throw;
    }
  }

  OpenedFile theirs_;
  const int pid_;

 public:
  Channel channel;  // declared after the members whose constructors may throw
};

ForkServer& ForkServer::Get() {
  static const bool installed = [] {
    HoldAcrossFork(g_server_mutex);
    OnForkChild([] { g_server = nullptr; });
    return true;
  }();
  static_cast<void>(installed);
  std::lock_guard lock(g_server_mutex);
  if (!g_server) g_server = new ForkServer();
  return *g_server;
}

bool ForkServer::TakeTurn() {
  std::lock_guard lock(mutex_);
  return !std::exchange(busy_, true);
}

void ForkServer::EndTurn() {
  {
    std::lock_guard lock(mutex_);
    busy_ = false;
  }
  free_.NotifyAll();
}

std::unique_ptr<ForkServer::Turn> ForkServer::Take(const WorkerCommand& command,
                                                   const CancelToken* cancel) {
  if (command.server.empty()) return nullptr;
  {
    const CancelToken never;
    const CancelToken& until = cancel ? *cancel : never;
    const CancelToken::Watch watch(until, free_);
    const WaitStatus status = WaitUntil(free_, until, [this] { return TakeTurn(); });
    if (status == WaitStatus::kCancelled) throw Error(ErrorKind::kCancelled, "");
    if (status == WaitStatus::kInterrupted) throw Error(ErrorKind::kInterrupted, "");
  }
  auto turn = std::make_unique<Turn>(*this);
  try {
    Prepare(command);
  } catch (const Error&) {  // the system refused a process, or its files
    process_ = nullptr;
  }
  if (!process_) return nullptr;
  g_cleanup.Schedule();
  return turn;
}

void ForkServer::Prepare(const WorkerCommand& command) {
  const std::string program = Joined(command.server);
  if (process_ && (process_->program != program || process_->channel.Closed() ||
                   process_->inherited != Inherited())) {
    process_ = nullptr;
  }
  if (!process_ && unsafe_ != program) process_ = std::make_unique<Process>(command.server);
}

bool ForkServer::Turn::Ask(const std::string& entry, std::span<const int> files) {
  Process& process = *server_.process_;
  if (process.channel.Send(entry, nullptr, files) != ChannelStatus::kDone) return false;
  ++process.owed;
  process.asked = NowNs();
  return true;
}

std::optional<int> ForkServer::NextAnswer(const CancelToken* cancel) {
  std::string answer;
  const ChannelStatus status = process_->channel.Receive(answer, cancel);
  if (status == ChannelStatus::kCancelled) throw Error(ErrorKind::kCancelled, "");
  if (status == ChannelStatus::kInterrupted) throw Error(ErrorKind::kInterrupted, "");
  if (status != ChannelStatus::kDone) return std::nullopt;
  --process_->owed;
  if (process_->start_cost == 0) process_->start_cost = process_->CpuTime();
  return Process::PidOf(answer);
}

std::optional<int> ForkServer::Turn::Answer(const CancelToken* cancel) {
  std::optional<int> pid;
  // All answers but the last belong to requests whose wait ended early.
  for (;;) {
    pid = server_.NextAnswer(cancel);
    if (!pid || server_.process_->owed == 0) break;
    if (*pid > 0) EndProcess(*pid);
  }
  if (pid && *pid > 0) return pid;
  // The server ended during its start, cannot fork safely, or exceeds the process limit.
  server_.unsafe_ = server_.process_->program;
  server_.process_ = nullptr;
  return std::nullopt;
}

bool ForkServer::EndIdle() {
  // The more its start costs, the longer it stays.
  constexpr MonoTime kLeast = 5'000'000'000, kMost = 60'000'000'000;
  constexpr int kPatience = 15;
  if (!TakeTurn()) return true;
  const Turn turn(*this);
  if (!process_) return false;
  const MonoTime idle = std::clamp(kPatience * process_->start_cost, kLeast, kMost);
  if (NowNs() - process_->asked < idle && !process_->channel.Closed()) return true;
  process_ = nullptr;
  return false;
}

#else

class ForkServer::Process {};
ForkServer& ForkServer::Get() {
  static auto* server = new ForkServer();
  return *server;
}
std::unique_ptr<ForkServer::Turn> ForkServer::Take(const WorkerCommand&, const CancelToken*) {
  return nullptr;
}
bool ForkServer::Turn::Ask(const std::string&, std::span<const int>) { return false; }
std::optional<int> ForkServer::Turn::Answer(const CancelToken*) { return std::nullopt; }
void ForkServer::EndTurn() {}
bool ForkServer::EndIdle() { return false; }

#endif

}  // namespace penstock
