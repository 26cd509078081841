// A process that forks workers: it has loaded what they need, and has no other thread.
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

// How a worker process is started: programs, each with its arguments.
struct WorkerCommand {
  std::vector<std::string> spawn;
  // Forks workers instead (penstock.workers.fork_server); empty: none does.
  std::vector<std::string> server;
  std::string entry;  // which worker the server is asked for
};

// The fork server of this process. The workers that it forks are children of this process, not of
// the server: they are waited for like others, and do not depend on it.
//
// The server is started again when what a new process inherits has changed: the environment, the
// working directory, resource limits or CPU affinity. It ends with this process, or when it has not
// been asked for a while. Where it cannot fork safely, workers are spawned.
class ForkServer {
 public:
  // The right of a thread to ask for one worker. The others wait meanwhile.
  class Turn {
   public:
    explicit Turn(ForkServer& server) : server_(server) {}
    ~Turn() { server_.EndTurn(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    // Asks for a worker that has these files: stdout, stderr, and those of Worker::kSocketFile and
    // up. False: the server has ended.
    bool Ask(const std::string& entry, std::span<const int> files);
    // The process that was asked for; nothing: there is none, because the server cannot fork
    // safely, or the system refuses a process. It is then not started again. Throws an Error when
    // the wait ends early. `cancel` may be null.
    std::optional<int> Answer(const CancelToken* cancel);

   private:
    ForkServer& server_;
  };

  // Of this process; a fork child has another one. Leaked.
  static ForkServer& Get();

  // Waits for a turn, and starts the server if it is not there. Null: no server can be had. Throws
  // an Error when the wait ends early. `cancel` may be null.
  std::unique_ptr<Turn> Take(const WorkerCommand& command, const CancelToken* cancel);
  // Ends the server if it has not been asked for long. Returns whether it is there.
  bool EndIdle();

 private:
  // The server process.
  class Process;

  ForkServer() = default;
  void Prepare(const WorkerCommand& command);
  // Nothing: it has ended.
  std::optional<int> NextAnswer(const CancelToken* cancel);
  bool TakeTurn();
  void EndTurn();

  std::mutex mutex_;   // a leaf lock
  bool busy_ = false;  // someone's turn: the rest is theirs
  EventCount free_;
  std::unique_ptr<Process> process_;
  std::string unsafe_;  // a server program that could not fork
};

}  // namespace penstock
