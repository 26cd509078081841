// The run of a Python iterator: which threads may enter it, and how it ends.
#pragma once

#include <memory>
#include <vector>

#include "data/block_size.h"
#include "engine/session.h"
#include "python/python.h"
#include "python/running_call.h"
#include "python/stall_watch.h"
#include "runtime/event_count.h"
#include "runtime/fork.h"

namespace penstock {

// Everything of an iterator except what tp_iternext touches first. Used with the GIL, and with the
// ObjectLock of the iterator; without either only by the thread that has entered it, and only to
// read.
struct Run {
  PyRef dataset;  // Python's, which the garbage collector sees; see bind_dataset.cc
  PyRef on_end;   // called once after the last element, or when it is dropped; see SayEnd
  DatasetPtr plan;
  RunOptions options;
  RunIdentity identity;  // from the moment that the iterator is made
  std::shared_ptr<Session> session;
  Block block;
  int64_t row = 0;                 // of the block, next to be handed out
  std::vector<bool> own;           // its columns to whose rows the consumer may write
  Grain ask = Grain::AsWanted();   // how many rows to ask for
  bool busy = false;               // a thread is inside the engine
  unsigned long owner = 0;         // that thread
  std::vector<const void*> queue;  // who waits to enter, the first one first
  EventCount idle;                 // woken when it leaves
  int64_t fetching_ns = 0;         // that the consumer has been inside for blocks
  int64_t fetch_began_ns = 0;      // of the block that it is inside for now; 0: none
  int64_t fetch_position = 0;      // how many elements were delivered when that began
  int64_t closed_position = 0;     // the same, of the session that was closed
  int64_t position_before = 0;     // the same, of sessions before this one: see GoOn
  StallWatch stall;
  RunningCall::Thread consumer;  // its calls, while it pulls itself
  bool closed = false;
  bool restored = false;       // its session began at a saved state
  bool told_shortage = false;  // the MemoryError that has ended the session was raised
  uint64_t fork_generation = ForkGeneration();
};

// A session that may end wherever its last reference is dropped. A thread that holds the GIL there
// gives it up while it waits for the threads of the run, which need the GIL to end.
std::shared_ptr<Session> MakeSession(const Run& run);
// How many elements the sessions of a run have made.
inline int64_t PositionOf(const Run& run) {
  return run.position_before + (run.session ? run.session->position() : 0);
}
// Starts the run, if it has not been started yet.
void Begin(Run& run);
// Lets one thread at a time use the run, in the order in which they came: one that takes element
// after element would otherwise be back before another has the GIL. `method` is for the error.
// Other threads may run before this returns and give the run another session, so what was read of
// the run before may be gone.
void Enter(Run& run, const char* method);
void Leave(Run& run);
// Enters a run for a scope. It is made before an Attachment of the same scope, so that it ends with
// the GIL.
class Entered final {
 public:
  Entered(Run& run, const char* method) : run_(run) { Enter(run, method); }
  ~Entered() { Leave(run_); }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  Run& run_;
};
// Whether the caller is a function that this run is waiting for.
bool FromInside(const Run& run);
// Throws in a fork child of the process that made it.
void CheckUsable(const Run& run, const char* method);
// Destroys a run off this thread: its threads may be inside a user's function, and until they are
// not, `dataset` and those that belong to the run keep the garbage collector away from it.
void Retire(std::shared_ptr<Session> session, PyRef dataset);

// The live runs of the process.
void RegisterRun(const std::shared_ptr<Session>& session);
void CancelAllRuns();

}  // namespace penstock
