// A single-threaded process that has loaded the workers' modules, and forks workers.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/cancel.h"
#include "runtime/clock.h"
#include "runtime/event_count.h"
#include "workers/channel.h"

namespace penstock {

// The commands that start a worker process: programs with their arguments.
struct WorkerCommand {
  std::vector<std::string> spawn;
  // Forks workers instead (penstock.workers.fork_server); empty: there is no server.
  std::vector<std::string> server;
  std::string entry;  // the kind of worker to request
};

// The fork server of this process. The workers that it forks are children of this process, not of
// the server. They are waited for like other children, and do not depend on the server.
//
// The server is restarted when inherited settings have changed: the environment, the working
// directory, resource limits or CPU affinity. It ends with this process, or after some time without
// requests. Where it cannot fork safely, workers are spawned.
class ForkServer {
 public:
  // A thread's exclusive right to request one worker. Other threads wait.
  class Turn {
   public:
    explicit Turn(ForkServer& server) : server_(server) {}
    ~Turn() { server_.EndTurn(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    // Requests a worker with these files: stdout, stderr, and those from Worker::kSocketFile up.
    // False: the server has ended.
    bool Ask(const std::string& entry, std::span<const int> files);
    // The id of the requested process; nullopt if the server cannot fork safely, or the system
    // refuses a process. The server is then not started again. Throws an Error if the wait is
    // cancelled or interrupted. `cancel` may be null.
    std::optional<int> Answer(const CancelToken* cancel);

   private:
    ForkServer& server_;
  };

  // The server of this process; a fork child has its own. Leaked.
  static ForkServer& Get();

  // Waits for a turn, and starts the server if necessary. Null: no server is available. Throws an
  // Error if the wait is cancelled or interrupted. `cancel` may be null.
  std::unique_ptr<Turn> Take(const WorkerCommand& command, const CancelToken* cancel);
  // Ends the server after a long time without requests. Returns whether it is running.
  bool EndIdle();

 private:
  // The server process.
  class Process;

  ForkServer() = default;
  void Prepare(const WorkerCommand& command);
  // The next answer; nullopt if the server has ended.
  std::optional<int> NextAnswer(const CancelToken* cancel);
  bool TakeTurn();
  void EndTurn();

  std::mutex mutex_;   // a leaf lock
  bool busy_ = false;  // a Turn exists, which owns the following members
  EventCount free_;
  std::unique_ptr<Process> process_;
  std::string unsafe_;  // a server program that cannot fork safely
};

}  // namespace penstock
