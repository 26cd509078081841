// Tells the user why an iterator is stalled: what everything waits for, and since when.
//
// One thread per process watches all iterators. It exists only while a consumer that has detached,
// or that calls a function itself, is inside a run; it ends half a second after the last one has
// left. A consumer that only computes never starts it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/session.h"
#include "python/free_threads.h"
#include "runtime/clock.h"

namespace penstock {

// Watches one iterator.
class StallWatch final {
 public:
  StallWatch() = default;
  ~StallWatch();
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;

  // The calling thread is inside the run, waiting for elements, for a scope that begins and ends
  // with the GIL held.
  class Wait final {
   public:
    Wait(StallWatch& watch, Session& session, MonoTime start);
    ~Wait();
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    StallWatch* const watch_;  // null: the options disable reports
    StallWatch* const outer_;
  };

  // Whether the calling thread is the watching thread and is just reporting a stall.
  static bool Telling();
  // Call before the thread may wait, or calls a function that may not return.
  static void Mind();

 private:
  struct Watches;
  struct Stall;
  static Watches& TheWatches();
  static void Run();
  static bool Look();
  void List(int64_t patience);
  MonoTime NextLook(MonoTime since) const;
  MonoTime Due(MonoTime since) const;
  void LookAt(MonoTime now, std::vector<Stall>* stalls);

  std::atomic<MonoTime> since_{0};  // when the thread inside entered; 0: none is inside. relaxed
  InsteadOfGil mutex_;              // protects the following members
  Session* session_ = nullptr;      // null: no thread is inside
  int64_t patience_ = 0;
  bool listed_ = false;
  // Used by the watching thread only.
  MonoTime looked_since_ = 0;         // the `since_` of the wait it looked at
  MonoTime first_look_ = 0;           // when it first looked at that wait
  MonoTime looked_at_ = 0;            // when it last looked; 0: the stall was reported
  std::vector<StageSnapshot> first_;  // the stages at the first look
};

}  // namespace penstock
