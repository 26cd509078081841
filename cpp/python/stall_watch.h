// Tells the user of an iterator that gives nothing: what everything waits for, and since when.
//
// One thread for the process looks after all iterators. It is there only while a consumer that has
// detached, or calls a function itself, is inside a run; half a second after the last one it ends,
// and what only computes never starts it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/session.h"
#include "python/free_threads.h"
#include "runtime/clock.h"

namespace penstock {

// Of one iterator.
class StallWatch final {
 public:
  StallWatch() = default;
  ~StallWatch();
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;

  // The calling thread is inside the run for elements, for a scope that begins and ends with the
  // GIL.
  class Wait final {
   public:
    Wait(StallWatch& watch, Session& session, MonoTime start);
    ~Wait();
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    StallWatch* const watch_;  // null: the options want none
    StallWatch* const outer_;
  };

  // Whether the calling thread is the one that looks, and tells the user something.
  static bool Telling();
  // The calling thread may wait, or call what does not return.
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

  std::atomic<MonoTime> since_{
      0};                       // relaxed: the thread inside is there since then; 0: there is none
  InsteadOfGil mutex_;          // over what follows
  Session* session_ = nullptr;  // null: as since_
  int64_t patience_ = 0;
  bool listed_ = false;
  // Of the thread that looks.
  MonoTime looked_since_ = 0;         // which wait was looked at
  MonoTime first_look_ = 0;           // when it was for the first time
  MonoTime looked_at_ = 0;            // the last time; 0: the user was told
  std::vector<StageSnapshot> first_;  // the stages at the first look
};

}  // namespace penstock
