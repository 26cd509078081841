// HandOver: decides whether it pays to let other threads produce what one thread consumes.
#pragma once

#include <cstdint>

#include "runtime/clock.h"

namespace penstock {

// A thread that works ahead overlaps production with consumption, saving the shorter of the two.
// But each wake-up of the other side costs about 5 to 100 us. If both sides are quick, the consumer
// is faster when it produces its own input. This is not known in advance. While there is a thread,
// the elapsed time is compared with the sum of both sides' work, which is the time it would take
// without one. While there is none, it is compared with the longer of the two plus the measured
// cost of handing over. Time that is not production counts as consumption, so quick takes need no
// clock reads.
//
// Times are summed over windows of takes, so that a single slow take decides nothing. A window in
// which a thread costs several times what it saves is cut short. The more often the decision has
// changed, the more windows must agree before it changes again. Several producers share the work,
// and slow each other down, so their total overestimates the time that one alone would need. So
// does a single producer's time if data moves between the caches of two CPUs. If little is gained,
// the consumer tries to produce, and later tries the threads again; the elapsed time is then
// compared with that before the change.
//
// Called by the consumer only; the producer reports its cost through Took.
class HandOver final {
 public:
  // Call at the start of a take, while pays().
  void Asked(MonoTime now);
  // Call at the end of a take of `rows` rows. `made_ns`: the total production time of `made_rows`
  // rows so far, by all producers; untimed rows are in neither. Returns whether the decision has
  // changed.
  bool Took(MonoTime now, int64_t rows, int64_t made_ns, int64_t made_rows, int makers = 1);
  // The same without a clock read, while !pays(); a later Took decides.
  void TookUntimed(int64_t rows);
  // The decision; initially true.
  bool pays() const { return pays_; }

  // For tests: change the decision after every `takes` takes, regardless of cost; 0: normal.
  static void ChangeEvery(int64_t takes);

 private:
  bool Weigh(double passed, double making, int makers, bool best);
  void Restart(MonoTime now, int64_t made_ns, int64_t made_rows);

  bool pays_ = true;
  MonoTime left_ = 0;    // end of the last take
  MonoTime began_ = 0;   // of the window; 0: not started
  int64_t first_ = 0;    // takes that are not counted: the first ones find nothing ready
  int64_t takes_ = 0;    // in the window, like the fields below
  double together_ = 0;  // rows per take in the previous window
  int64_t rows_ = 0;
  MonoTime outside_ = 0;  // time outside of takes, while it pays
  int64_t made_ns_ = 0;   // at the window's start
  int64_t made_rows_ = 0;
  double cost_ = 0;      // ns per take from a thread, beyond the longer side
  double row_ = 0;       // recent ns per row; 0: unknown
  double other_ = 0;     // the same on the other side, before the change; 0: already compared
  bool doubts_ = false;  // the estimate favours a thread, but running without one is being tested
  double each_before_ = 0;  // ns to produce a row with threads; 0: already compared
  double slowing_ = 1;      // factor by which threads slowed down production
  int64_t agreed_ = 0;      // consecutive windows in favour of a change
  int64_t needed_ = 2;      // agreeing windows required
};

}  // namespace penstock
