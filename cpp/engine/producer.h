// A background thread that pulls an iterator ahead; used by prefetch and parallel interleave.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "data/block_size.h"
#include "data/pending.h"
#include "engine/dataset.h"
#include "engine/delayed_restore.h"
#include "engine/session.h"
#include "runtime/event_count.h"
#include "runtime/hand_over.h"
#include "runtime/model.h"
#include "runtime/parking.h"
#include "runtime/pump.h"
#include "runtime/spsc_ring.h"
#include "runtime/timed_steps.h"
#include "runtime/wait.h"

namespace penstock {

// Limits how many producers pull at the same time.
class Permits {
 public:
  explicit Permits(int64_t count) : left_(count) {}
  WaitStatus Acquire(const CancelToken& cancel);
  void Release();
  // Releases the permit when destroyed.
  class Held {
   public:
    explicit Held(Permits* permits) : permits_(permits) {}
    ~Held() {
      if (permits_) permits_->Release();
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

   private:
    Permits* const permits_;
  };
  EventCount& event() { return event_; }

 private:
  std::atomic<int64_t> left_;
  EventCount event_;
};

struct ProducerOptions {
  const StageLabel* stage;              // the owning stage; outlives the producer
  int64_t limit = 2;                    // elements ahead; kAutotune: grows as needed
  std::shared_ptr<EventCount> ready{};  // notified when something can be taken; null: a new one
  std::shared_ptr<Permits> permits{};   // null: unlimited
  bool bound = false;                   // objects used by the input may belong to the thread
  bool in_turns = false;                // the consumer may pull the input itself if that is faster
  int stages = 1;                       // depth of the input that one thread runs nested
};

// One thread pulls and one thread takes. The thread starts at the first take and ends at the end of
// the input, which is destroyed on it. If the buffer stays full for long, the thread exits unless
// it is bound, and the take that makes room starts another one. If the system refuses a thread,
// this producer does not try again: each take pulls the input itself from then on.
//
// With `in_turns`, takes also pull the input while HandOver finds that a thread does not pay. The
// input has one owner at any time. To transfer it to the consumer, the consumer sets `leave_` and
// keeps taking from the ring; the thread sees `leave_` before its next pull, sets `left_` and
// returns; once the consumer finds the ring empty and `left_` set, it joins the thread and pulls
// from then on. To transfer it back, the consumer starts a thread between two takes. So a join and
// a thread start order all accesses of the two sides to the input, and the consumer waits for a
// slow pull as for any other.
class Producer {
 public:
  // `input` was started with a context whose token is `cancel`, a child of the owner's token.
  Producer(Session& session, const Dataset& data, IteratorPtr input, CancelToken cancel,
           StageStats* stats, ProducerOptions options);
  ~Producer();

  // Starts the thread before the first take.
  void Start();
  // See Iterator::RequestFirst; before the start only.
  int64_t RequestFirst() { return input_ ? input_->RequestFirst() : 0; }
  // Returns at most `max_rows` rows that are ready; waits for the first of them.
  Block Take(int64_t max_rows);
  // Whether Take would return without waiting.
  bool Ready();
  // The position after the last row taken; restore only before the start.
  void VisitState(StateVisitor& visitor);
  // Skips steps of the input; before the start, without producing them.
  std::optional<Error> Discard(int64_t& steps);

 private:
  // A state of the input, if one was taken.
  struct Mark {
    StateBlob state;
    int64_t position = 0;  // in steps
  };
  struct Packet {
    Block block;
    Mark mark;
    BudgetCharge charge;
    bool ahead = false;  // it was in the ring
  };

  void Run();
  // Returns false if the thread exits while there is more to do.
  bool Produce();
  // Pulls at most `most` rows of the input, optionally followed by a transient error. `start`: the
  // current time, if this pull is timed.
  Block Pull(int64_t most, std::optional<MonoTime> start, Mark& mark);
  // After a timed pull.
  void Learn(int64_t rows, MonoTime start);
  void Push(Packet packet);
  // Take, if the consumer pulls the next rows. `carries`: the stack is known to suffice.
  Block TakeHere(int64_t max_rows, bool carries);
  Block PullHere(int64_t max_rows);
  bool Room();
  void StartThread();
  bool Pop(Packet& packet);
  // Adds more small elements that are ready, to amortize the cost of a call. Returns how many rows
  // left the ring.
  int64_t Join(Packet& packet, int64_t max_rows);
  // Take, in all other cases.
  Block TakeReady(int64_t max_rows);
  Block TakePending(int64_t max_rows);
  // Waits for the next packet; kTimeout: the thread has exited, and the consumer pulls.
  WaitStatus Next(Packet& packet);
  // Before a block is delivered: keeps its state, and detects errors that end the run.
  void Note(Mark& mark, Block& block);
  // Call after a packet with `count` rows has left the ring.
  void MakeRoom(int64_t count);
  // Whether the thread has left the input to the consumer.
  bool Left() const;
  // After a take of `rows` rows: changes which side pulls, if that pays.
  void Weigh(int64_t rows, MonoTime now);
  // Gives the input to a thread, if the system grants one.
  void ReturnInput();
  // Whether the consumer's thread has enough stack to pull the input. The next call may come from
  // another thread.
  bool StackCarriesInput() const;
  void Deliver(const Block& block);
  // Grows the buffer to the size that the model recommends and the memory budget allows.
  void Tune();
  // How many elements the budget has room for.
  int64_t Affordable() const;

  Session& session_;
  const Lane lane_;
  IteratorPtr input_;
  CancelToken cancel_;
  StageStats* stats_;
  const ProducerOptions options_;
  const bool tunes_;  // the limit
  const std::shared_ptr<EventCount> ready_;
  EventCount room_;
  CancelToken::Watch room_watch_;
  Budget::Watch budget_watch_;
  CancelToken::Watch ready_watch_;
  std::optional<CancelToken::Watch> permit_watch_;
  std::atomic<int64_t> limit_;
  std::atomic<int64_t> buffered_{0};  // elements in the ring
  std::atomic<bool> halted_{false};   // the thread ended without memory: no more packets
  std::atomic<bool> leave_{false};    // asks the thread to leave the input to the consumer
  std::atomic<bool> left_{false};     // the thread has left it
  // Time and rows of all pulls. Relaxed: estimates.
  std::atomic<int64_t> pull_ns_{0};
  std::atomic<int64_t> pull_rows_{0};
  std::atomic<int64_t> pull_bytes_{0};  // of the rows that were pushed, while tunes_
  // While tunes_: written by the side that pulls, and by the consumer.
  ElementTimes made_;
  ElementTimes used_;
  SpscRing<Packet> ring_;
  Parking parking_;
  // The thread's side; passed to the thread that replaces it.
  DelayedRestore restore_;
  bool ended_ = false;
  int64_t pulled_ = 0;  // steps
  MarkClock clock_;
  Grain grain_;
  MonoTime pulled_at_ = 0;  // the end of the last pull
  // The consumer's side.
  bool started_ = false;
  bool in_line_ = false;  // no thread; the consumer does its work. A thread only reads it.
  HandOver hand_over_;
  TimedSteps<10'000, 8> timing_;  // of pulls by the consumer
  // While tunes_: the time and row count of the last delivery. 0 once their use was measured.
  MonoTime came_at_ = 0;
  int64_t came_rows_ = 0;
  PendingBlocks pending_;
  BudgetCharge pending_charge_;
  StateTrail trail_;
  int64_t delivered_ = 0;  // steps
  bool was_full_ = false;  // since it was last found empty
  bool finished_ = false;
  std::optional<Pump> pump_;  // last: joined before its dependencies are destroyed
};

}  // namespace penstock
