// What a parallel map does when it can get no thread: the consumer pulls and calls.
#pragma once

#include <algorithm>
#include <new>
#include <utility>

#include "compute/function.h"
#include "data/block_size.h"
#include "engine/producer.h"
#include "engine/session.h"
#include "runtime/clock.h"
#include "stages/map/calls_in_line.h"
#include "stages/map/progress.h"
#include "stages/map/shared_input.h"

namespace penstock {

// It begins where the threads have stopped, or at the beginning, and goes on so to the end: it does
// not ask for a thread for each block; the next iterator does.
class MapInLine final {
 public:
  // What the threads of the map would use; `stages`: of the input, that run inside one another.
  struct Shared {
    Session& session;
    const CancelToken& cancel;
    Function& function;
    SharedInput& input;
    MapProgress& progress;
  };
  MapInLine(const Shared& shared, Lane lane, int stages)
      : shared_(shared), stages_(stages), grain_(Grain::Ahead(lane)) {}

  // `info`: what is the same for all calls.
  Block Next(int64_t max_rows, CallInfo info) {
    if (ended_) return Block::AtEnd();
    try {
      shared_.session.RequireStackHere(stages_);
    } catch (const Error&) {  // a caller that goes on asking after an error finds the end
      ended_ = true;
      throw;
    }
    info.index = shared_.progress.index();
    const int64_t start = NowNs();
    int64_t pulled = 0;
    Block block = calls_.Next(max_rows, shared_.function, info, [&] {
      // A function of the user is called only for rows that were asked for: an error that waited
      // here would hold references to the caller's frames.
      const bool one = shared_.function.needs_lock();
      SharedInput::Rows rows = Pull(one ? 1 : std::min(max_rows, grain_.rows()));
      info.index = shared_.progress.index();
      pulled = rows.block.rows;
      return std::move(rows.block);
    });
    grain_.Learn(pulled, NowNs() - start);
    shared_.progress.Deliver(block.steps());
    return block;
  }

 private:
  SharedInput::Rows Pull(int64_t most) {
    const auto token = shared_.input.Hold();  // the last thread that leaves may drop it
    SharedInput::Rows rows;
    if (shared_.cancel.cancelled()) {  // the input may be gone
      rows.block = Block::Of(Error(ErrorKind::kCancelled, ""));
      return rows;
    }
    shared_.input.Pull(most, rows);
    if (rows.halted) throw std::bad_alloc();
    MapPacket from;
    from.position = rows.position;
    from.state = std::move(rows.state);
    shared_.progress.Take(from);
    return rows;
  }

  const Shared shared_;
  const int stages_;
  CallsInLine calls_;
  Grain grain_;
  bool ended_ = false;
};

}  // namespace penstock
