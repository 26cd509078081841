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

// All of an iterator's state except the fields that tp_iternext reads first. Access requires the
// GIL and the ObjectLock of the iterator. Only the thread that has entered the run may access it
// without either, and only to read.
struct Run {
  PyRef dataset;  // Python's, visible to the garbage collector; see bind_dataset.cc
  PyRef on_end;   // called once after the last element, or when the iterator is dropped; see SayEnd
  DatasetPtr plan;
  RunOptions options;
  RunIdentity identity;  // fixed when the iterator is created
  std::shared_ptr<Session> session;
  Block block;
  int64_t row = 0;                 // the next row of the block to deliver
  std::vector<bool> own;           // columns of the block whose rows the consumer may write to
  Grain ask = Grain::AsWanted();   // how many rows to request
  bool busy = false;               // a thread is inside the engine
  unsigned long owner = 0;         // that thread
  std::vector<EventCount*> queue;  // one per thread that waits to enter, in order
  int64_t fetching_ns = 0;         // total time the consumer has spent inside, for blocks
  int64_t fetch_began_ns = 0;      // when the current fetch began; 0: there is none
  int64_t fetch_position = 0;      // elements delivered before that fetch
  int64_t closed_position = 0;     // elements delivered when the session was closed
  int64_t position_before = 0;     // elements delivered by earlier sessions; see GoOn
  StallWatch stall;
  RunningCall::Thread consumer;  // the calls of the consumer's thread while it pulls the run itself
  bool closed = false;
  bool restored = false;       // its session started from a saved state
  bool told_shortage = false;  // the MemoryError that ended the session was raised
  uint64_t fork_generation = ForkGeneration();
};

// Creates a session that may be destroyed wherever its last reference is dropped. If that thread
// holds the GIL, it releases the GIL while it waits for the threads of the run, which need the GIL
// to end.
std::shared_ptr<Session> MakeSession(const Run& run);
// The number of elements that the sessions of a run have produced.
inline int64_t PositionOf(const Run& run) {
  return run.position_before + (run.session ? run.session->position() : 0);
}
// Starts the run if it has not started yet.
void Begin(Run& run);
// Lets one thread at a time use the run, in order of arrival: without the queue, a thread that
// takes many elements would re-enter before any other thread acquired the GIL. `method` is for the
// error. Other threads may run before Enter returns and replace the session, so anything read from
// the run earlier may be gone.
void Enter(Run& run, const char* method);
void Leave(Run& run);
// Enters a run for a scope. Must be created before an Attachment in the same scope, so that it ends
// with the GIL held.
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
// Throws in a fork child of the process that created the run.
void CheckUsable(const Run& run, const char* method);
// Destroys a run on another thread, because its threads may be inside a user function. Until they
// return, further references to `dataset` and to the run's objects keep the garbage collector from
// freeing these.
void Retire(std::shared_ptr<Session> session, PyRef dataset);

// The live runs of the process.
void RegisterRun(const std::shared_ptr<Session>& session);
void CancelAllRuns();

}  // namespace penstock
