// What a parallel map does without threads: the consumer pulls and calls.
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

// It begins where the threads have stopped, or at the beginning. Where the system has refused them
// it goes on so to the end: it does not ask for a thread for each block; the next iterator does.
class MapInLine final {
 public:
  // What the threads of the map would use.
  struct Shared {
    Session& session;
    const CancelToken& cancel;
    Function& function;
    SharedInput& input;
    MapProgress& progress;
  };
  // `stages`: of the input, that run inside one another, for which the stack is looked at; 0: the
  // caller does that.
  MapInLine(const Shared& shared, Grain grain, int stages)
      : shared_(shared), stages_(stages), grain_(grain) {}

  // Whether nothing waits that was pulled.
  bool idle() const { return calls_.idle(); }
  // Rows that the last Next has pulled.
  int64_t pulled() const { return pulled_; }
  MonoTime ended_at() const { return ended_at_; }  // the last Next that was timed
  int64_t grain() const { return grain_.rows(); }

  // `info`: what is the same for all calls. `start`: now, or 0 if it is not timed.
  Block Next(int64_t max_rows, CallInfo info, MonoTime start) {
    if (ended_) return Block::AtEnd();
    try {
      if (stages_ > 0) shared_.session.RequireStackHere(stages_);
    } catch (const Error&) {  // a caller that goes on asking after an error finds the end
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
      // A function of the user is called only for rows that were asked for: an error that waited
      // here would hold references to the caller's frames.
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
    const auto token = shared_.input.Hold();  // the last thread that leaves may drop it
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
