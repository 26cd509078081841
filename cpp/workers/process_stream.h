// Elements that a worker process makes ahead for this process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/block.h"
#include "runtime/cancel.h"
#include "runtime/stage_label.h"
#include "workers/pool.h"
#include "workers/wire.h"

namespace penstock {

class Session;

// The request to the worker. `payload`: the source of the elements (serve.h).
struct StreamOrder {
  std::string payload;
  StageLabel stage;   // for errors
  int64_t skip = 0;   // number of elements to skip
  std::string state;  // of the source, after `state_at` elements; empty: none
  int64_t state_at = 0;
  int64_t most = -1;   // maximum number of elements; -1: unlimited
  StageRandom random;  // from which random operations draw

  void Visit(StateVisitor& visitor);
};

// Not thread-safe. Occupies one worker until the elements end.
class ProcessStream {
 public:
  // `fresh`: requires a new worker. `session`: the run that waits for the elements. Throws an Error
  // if no worker is available, or if the wait for one is cancelled or interrupted.
  ProcessStream(StreamOrder order, const CancelToken& cancel, const Session* session, bool fresh);
  // Stops the worker's production. Waits for the current element, but no longer than half a second;
  // after that it kills the worker.
  ~ProcessStream();
  ProcessStream(const ProcessStream&) = delete;
  ProcessStream& operator=(const ProcessStream&) = delete;

  // The end of a worker, and the number of the element that it was making.
  struct Death {
    std::string how;
    int64_t element;  // -1: it had not begun
  };
  // The next elements, perhaps followed by an error or the end; empty after a death. Throws
  // transient errors; the next call then continues.
  std::vector<Block> Next(const CancelToken& cancel, std::optional<Death>& death);

 private:
  ChannelStatus Send(MessageKind kind);
  ChannelStatus Begin();
  Death DeathOf();

  StreamOrder order_;
  const Session* const session_;
  const uint64_t generation_;  // a fork child leaves the worker to its parent
  WorkerPool::Lease worker_;
  bool begun_ = false;
  bool ended_ = false;  // nothing more will be requested from the worker
  int owed_ = 0;        // outstanding answers
};

}  // namespace penstock
