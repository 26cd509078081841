// A parallel map without threads: the consumer pulls and calls.
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

// Starts where the threads have stopped, or at the beginning. If the system refused threads, it
// continues to the end and does not request a thread again; the next iterator does.
class MapInLine final {
 public:
  // The objects that the map's threads would use.
  struct Shared {
    Session& session;
    const CancelToken& cancel;
    Function& function;
    SharedInput& input;
    MapProgress& progress;
  };
  // `stages`: depth of the input that the thread runs nested, to check the stack for; 0: the caller
  // has checked it.
  MapInLine(const Shared& shared, Grain grain, int stages)
      : shared_(shared), stages_(stages), grain_(grain) {}

  // Whether everything pulled has been delivered.
  bool idle() const { return calls_.idle(); }
  // Rows pulled by the last Next.
  int64_t pulled() const { return pulled_; }
  MonoTime ended_at() const { return ended_at_; }  // of the last timed Next
  int64_t grain() const { return grain_.rows(); }

  // `info`: the part common to all calls. `start`: the current time, or 0 if this call is not
  // timed.
  Block Next(int64_t max_rows, CallInfo info, MonoTime start) {
    if (ended_) return Block::AtEnd();
    try {
      if (stages_ > 0) shared_.session.RequireStackHere(stages_);
    } catch (const Error&) {  // a caller that continues after the error reaches the end
      ended_ = true;
      throw;
    }
    return Make(max_rows, info, start);
  }

 private:
  Block Make(int64_t max_rows, CallInfo& info, MonoTime start) {
    info.index = shared_.progress.index();
    pulled_ = 0;
    Block block = calls_.Next(max_rows, shared_.function, info, [&] {
      // A user's function is called only for requested rows: an error waiting here would hold
      // references to the caller's frames.
      const bool one = shared_.function.needs_lock();
      Block rows = Pull(one ? 1 : std::min(max_rows, grain_.rows()), start);
      info.index = shared_.progress.index();
      pulled_ = rows.rows;
      return rows;
    });
    if (start != 0) {
      ended_at_ = NowNs();
      grain_.Learn(pulled_, ended_at_ - start);
    }
    shared_.progress.Deliver(block.steps());
    return block;
  }

  Block Pull(int64_t most, MonoTime now) {
    const auto token = shared_.input.Hold();  // the last exiting thread may destroy the input
    if (shared_.cancel.cancelled())           // the input may be gone
      return Block::Of(Error(ErrorKind::kCancelled, ""));
    SharedInput::Rows rows;
    shared_.input.Pull(most, now, rows);
    if (rows.halted) throw std::bad_alloc();
    shared_.progress.Take(rows.position, std::move(rows.state));
    return std::move(rows.block);
  }

  const Shared shared_;
  const int stages_;
  CallsInLine calls_;
  Grain grain_;
  int64_t pulled_ = 0;
  MonoTime ended_at_ = 0;
  bool ended_ = false;
};

}  // namespace penstock
