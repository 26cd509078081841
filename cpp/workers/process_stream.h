// Elements that a worker process makes ahead of this one.
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

// What a worker is asked for. `payload`: what it makes the elements of (serve.h).
struct StreamOrder {
  std::string payload;
  StageLabel stage;   // for errors
  int64_t skip = 0;   // elements that it skips
  std::string state;  // of the source, after `state_at` elements; empty: none
  int64_t state_at = 0;
  int64_t most = -1;   // elements after which it stops; -1: any number
  StageRandom random;  // what random operations draw from

  void Visit(StateVisitor& visitor);
};

// Used by one thread at a time. One worker works for it alone, until the end of the elements.
class ProcessStream {
 public:
  // `fresh`: by a new worker. Throws an Error when none can be had, or when the wait for one ends
  // early.
  // `session`: the run that waits for it.
  ProcessStream(StreamOrder order, const CancelToken& cancel, const Session* session, bool fresh);
  // Ends what makes the elements, and waits for that as long as it takes to make one, but no longer
  // than half a second: then the worker is ended.
  ~ProcessStream();
  ProcessStream(const ProcessStream&) = delete;
  ProcessStream& operator=(const ProcessStream&) = delete;

  // A worker that has ended, and the number of the element that it was making.
  struct Death {
    std::string how;
    int64_t element;  // -1: it had not begun
  };
  // The next elements, perhaps with an error or the end after them; none after a death. Throws
  // transient errors; the next call goes on.
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
  bool ended_ = false;  // nothing more is wanted of the worker
  int owed_ = 0;        // answers
};

}  // namespace penstock
