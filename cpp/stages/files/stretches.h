// Stretches of a file of records whose ends can be seen anywhere in it, read by several threads.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "engine/session.h"
#include "runtime/budget.h"
#include "runtime/cancel.h"
#include "runtime/crew.h"
#include "runtime/event_count.h"
#include "runtime/slot_ring.h"
#include "runtime/stats.h"
#include "runtime/wait.h"
#include "stages/files/byte_source.h"

namespace penstock {

// The records that begin in a stretch of a file.
struct FileStretch {
  BufferRef bytes;               // where they lie
  BufferRef spans;               // begin and end of each, in `bytes`
  std::vector<int64_t> offsets;  // of each in the file
  int64_t next = 0;              // where in the file the record after them begins
  // They are all that begin in it; otherwise what follows is to be read in order, to see why.
  bool whole = false;
  BudgetCharge charge;

  int64_t rows() const { return static_cast<int64_t>(offsets.size()); }
};

// What is read: `count` stretches of `size` bytes from `begin` on, where a record begins. For
// formats of lines: a record ends at a '\n', wherever that stands.
struct StretchPlan {
  int64_t begin;
  int64_t size;
  int64_t count;
  size_t max_record;  // a stretch with a longer one is not whole
  std::function<std::unique_ptr<ByteSource>(int64_t begin)> open;
  std::function<std::unique_ptr<RecordReader>()> reader;
};

// Each thread waits until there is room for the next stretch, takes its number, reads it, and
// publishes it under that number in a ring, from which the consumer takes them in order. An error
// is no more than a stretch that is not whole: who reads on in order meets it where it belongs.
//
// Who waits, and for what. A thread without a number waits for room; the consumer, which alone
// makes room, notifies all of them when it has taken a stretch, and the budget does when it is no
// longer exceeded. For the stretch that the consumer waits for there is room whatever the budget
// says: some thread has its number and does not wait, or one that waits sees that there is room and
// takes it. So the consumer is notified in the end. Cancelling ends both waits. The threads hold no
// foreign lock, and the consumer gives it up before it sleeps. A thread that has waited for long
// leaves, without a number; the consumer replaces it when it has made room, and before it waits.
// Where the system gives no thread then, those that are left do the work; without any, Take throws.
class StretchReaders final {
 public:
  // Throws std::system_error when the system gives no thread at all.
  StretchReaders(Session& session, const StageLabel& stage, CancelToken cancel, StageStats& stats,
                 int threads, StretchPlan plan);
  ~StretchReaders();

  bool done() const { return taken_ == plan_.count; }
  // The next stretch, unless done(); throws std::system_error as the constructor does.
  WaitStatus Take(FileStretch& stretch);

 private:
  void Work(int thread, Parking& parking);
  int64_t TakeNumber(Parking& parking);
  FileStretch Read(int64_t number, std::unique_ptr<ByteSource>& file);
  void ReadInto(int64_t number, std::unique_ptr<ByteSource>& file, FileStretch& stretch);
  bool HasRoom(int64_t number) const;

  Session& session_;
  StageStats& stats_;
  const StretchPlan plan_;
  const CancelToken cancel_;
  SlotRing<FileStretch> ring_;
  EventCount room_;
  EventCount ready_;
  CancelToken::Watch room_watch_;
  Budget::Watch budget_watch_;
  CancelToken::Watch ready_watch_;
  std::atomic<int64_t> next_{0};                    // the first number that no thread has taken
  std::vector<std::unique_ptr<ByteSource>> files_;  // of each thread, and the one that replaces it
  int64_t taken_ = 0;
  Crew workers_;  // last: joined before anything that they use is gone
};

}  // namespace penstock
