// An iterator that runs ahead on a thread of its own: what prefetch and parallel interleave are
// made of.
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

// How many producers may pull at the same time.
class Permits {
 public:
  explicit Permits(int64_t count) : left_(count) {}
  WaitStatus Acquire(const CancelToken& cancel);
  void Release();
  // One permit, held for as long as this object lives.
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
  const StageLabel* stage;              // the stage that owns it; outlives the producer
  int64_t limit = 2;                    // elements ahead; kAutotune: grows as needed
  std::shared_ptr<EventCount> ready{};  // notified when something can be taken; null: its own
  std::shared_ptr<Permits> permits{};   // null: unlimited
  bool bound = false;                   // the objects that the input uses may belong to the thread
  bool in_turns = false;                // the consumer may pull itself, where that is faster
  int stages = 1;                       // of the input, that run inside one another
};

// One thread pulls, one thread takes. The thread starts at the first take and ends by itself at the
// end of the input; the input is destroyed on it. When the buffer has been full for long, the
// thread leaves, unless it is bound, and the take that makes room starts another one. Where the
// system refuses a thread, each take pulls the input itself from then on: it does not ask for a
// thread for each block; the next iterator does.
//
// With `in_turns`, takes also pull the input while HandOver says that a thread does not pay. The
// input has one owner at any time, and goes over in three steps. To the consumer: it sets `leave_`,
// and goes on taking what is in the ring; the thread sees that before its next pull, sets `left_`
// and returns; the consumer, which finds the ring empty and `left_` set, joins it and pulls from
// then on. Back: the consumer, between two takes, starts a thread. So a join and a start order all
// that the two sides do with the input, and a slow pull is waited for as any other.
class Producer {
 public:
  // `input` was started with a context whose token is `cancel`, a child of its owner's.
  Producer(Session& session, const Dataset& data, IteratorPtr input, CancelToken cancel,
           StageStats* stats, ProducerOptions options);
  ~Producer();

  // Starts the thread, ahead of the first take.
  void Start();
  // As Iterator::RequestFirst, before the start.
  int64_t RequestFirst() { return input_ ? input_->RequestFirst() : 0; }
  // At most `max_rows` rows that are ready, waiting for the first of them.
  Block Take(int64_t max_rows);
  // Whether Take would not wait.
  bool Ready();
  // The position as of the last row taken; restored before the start.
  void VisitState(StateVisitor& visitor);
  // Passes over steps of the input: before the start without making them.
  std::optional<Error> Discard(int64_t& steps);

 private:
  // A state of the input, when one was taken.
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
  // False when the thread leaves while there is more to do.
  bool Produce();
  // At most `most` rows of the input, then perhaps a transient error. `start`: now, if it is timed.
  Block Pull(int64_t most, std::optional<MonoTime> start, Mark& mark);
  // Of a pull that is timed.
  void Learn(int64_t rows, MonoTime start);
  void Push(Packet packet);
  // What Take gives where this side pulls what is next. `carries`: the stack is known to suffice.
  Block TakeHere(int64_t max_rows, bool carries);
  Block PullHere(int64_t max_rows);
  bool Room();
  void StartThread();
  bool Pop(Packet& packet);
  // Adds the small elements that are ready as well, so that the cost of a call is paid once for all
  // of them. Returns how many rows left the ring.
  int64_t Join(Packet& packet, int64_t max_rows);
  // What Take gives otherwise.
  Block TakeReady(int64_t max_rows);
  Block TakePending(int64_t max_rows);
  // Waits for the next packet; kTimeout: the thread has left, and this side pulls.
  WaitStatus Next(Packet& packet);
  // Before a block is handed out: keeps a state, and sees what ends the run.
  void Note(Mark& mark, Block& block);
  // After a packet with `count` rows has left the ring.
  void MakeRoom(int64_t count);
  // Whether the thread has left the input to this side.
  bool Left() const;
  // After a take of `rows` rows: changes the side that pulls where that pays.
  void Weigh(int64_t rows, MonoTime now);
  // To a thread, if one can be had.
  void ReturnInput();
  // Whether the thread that asks can pull it: another one may be next time.
  bool StackCarriesInput() const;
  void Deliver(const Block& block);
  // Makes the buffer as large as the model says, and the memory budget allows.
  void Tune();
  // How many elements the budget leaves room for.
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
  std::atomic<bool> halted_{false};   // the thread ended without memory: nothing more comes
  std::atomic<bool> leave_{false};    // asks the thread to leave the input to the consumer
  std::atomic<bool> left_{false};     // it has
  // Time and rows of all pulls. Relaxed: estimates.
  std::atomic<int64_t> pull_ns_{0};
  std::atomic<int64_t> pull_rows_{0};
  std::atomic<int64_t> pull_bytes_{0};  // of those that were pushed, while tunes_
  // While tunes_: written by the side that pulls, and by the consumer.
  ElementTimes made_;
  ElementTimes used_;
  SpscRing<Packet> ring_;
  Parking parking_;
  // The thread's side, handed on to the thread that replaces it.
  DelayedRestore restore_;
  bool ended_ = false;
  int64_t pulled_ = 0;  // steps
  MarkClock clock_;
  Grain grain_;
  MonoTime pulled_at_ = 0;  // the end of the last pull
  // The consumer's side.
  bool started_ = false;
  bool in_line_ = false;  // there is no thread, and this side does its work; a thread only reads it
  HandOver hand_over_;
  TimedSteps<10'000, 8> timing_;  // of what is pulled here
  // While tunes_: when rows came the last time, and how many. 0 once their use was measured.
  MonoTime came_at_ = 0;
  int64_t came_rows_ = 0;
  PendingBlocks pending_;
  BudgetCharge pending_charge_;
  StateTrail trail_;
  int64_t delivered_ = 0;  // steps
  bool was_full_ = false;  // since the last time it was found empty
  bool finished_ = false;
  std::optional<Pump> pump_;  // last: joined before anything it uses is gone
};

}  // namespace penstock
