// Reads stretches of a record file in several threads, if record ends are recognizable anywhere in
// the file.
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

// The records that begin in one stretch of a file.
struct FileStretch {
  BufferRef bytes;               // contains the records
  BufferRef spans;               // begin and end of each record in `bytes`
  std::vector<int64_t> offsets;  // of each record in the file
  int64_t next = 0;              // file offset of the first record after them
  // Whether these are all records that begin in it. If not, the rest must be read sequentially to
  // find out why.
  bool whole = false;
  BudgetCharge charge;

  int64_t rows() const { return static_cast<int64_t>(offsets.size()); }
};

// The stretches to read: `count` of `size` bytes each, starting at `begin`, where a record begins.
// For formats of lines: every '\n' ends a record.
struct StretchPlan {
  int64_t begin;
  int64_t size;
  int64_t count;
  size_t max_record;  // a stretch with a longer record is not whole
  std::function<std::unique_ptr<ByteSource>(int64_t begin)> open;
  std::function<std::unique_ptr<RecordReader>()> reader;
};

// Each thread waits for room for the next stretch, takes its number, reads it, and publishes it
// under that number in a ring. The consumer takes stretches from the ring in order. An error only
// makes a stretch not whole: the consumer then reads sequentially and meets the error at its
// position.
//
// Waiting and waking: a thread without a number waits for room. Only the consumer makes room; it
// notifies all threads when it has taken a stretch, and so does the budget when it is no longer
// exceeded. The stretch that the consumer waits for has room regardless of the budget: either some
// thread has its number and does not wait, or a waiting thread sees the room and takes the number.
// So the consumer is eventually notified. Cancelling ends both waits. The threads hold no foreign
// lock, and the consumer releases it before it sleeps. A thread that has waited for long exits
// without a number; the consumer replaces it after making room, before it waits. If the system then
// refuses a thread, the remaining threads do the work; if there are none, Take throws.
class StretchReaders final {
 public:
  // Throws std::system_error if the system grants no thread at all.
  StretchReaders(Session& session, const StageLabel& stage, CancelToken cancel, StageStats& stats,
                 int threads, StretchPlan plan);
  ~StretchReaders();

  bool done() const { return taken_ == plan_.count; }
  // Returns the next stretch, unless done(). Throws std::system_error like the constructor.
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
  std::atomic<int64_t> next_{0};                    // the first number not yet taken by a thread
  std::vector<std::unique_ptr<ByteSource>> files_;  // per thread; passed to its replacement
  int64_t taken_ = 0;
  Crew workers_;  // last: joined before its dependencies are destroyed
};

}  // namespace penstock
