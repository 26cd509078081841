// Calls that worker processes are executing now, for reports about runs that wait.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/clock.h"
#include "runtime/stage_label.h"
#include "workers/worker.h"

namespace penstock {

class Session;

struct AwaitedCall {
  std::string text;  // "map(load), element 17"
  int64_t pid;
  MonoTime since;

  // The calls of a run, longest first.
  static std::vector<AwaitedCall> Of(const Session* session);
};

// While it exists, this thread waits for the answer of a worker.
class Awaiting final {
 public:
  // `first`: the number, at the stage, of the worker's row 0. All arguments must outlive the
  // object.
  Awaiting(const Session* session, const StageLabel& stage, int64_t first, Worker& worker);
  ~Awaiting();
  Awaiting(const Awaiting&) = delete;
  Awaiting& operator=(const Awaiting&) = delete;

  const Session* session() const { return session_; }
  AwaitedCall call() const;

 private:
  const Session* const session_;
  const StageLabel& stage_;
  const int64_t first_;
  Worker& worker_;
  const MonoTime since_ = NowNs();
};

}  // namespace penstock
