// HandOver: whether it pays that other threads make what one takes.
#pragma once

#include <cstdint>

#include "runtime/clock.h"

namespace penstock {

// A thread that works ahead hides the shorter of two times, that of making and that of using, but
// each time the other one has to be woken costs some 5 to 100 us. Where both sides are quick, the
// consumer is faster when it makes what it takes itself. Nothing is known before: while there is a
// thread, the time that passes is compared with the sum of both sides' work, which is what it would
// be without; and while there is none, with the longer of both and what handing over has cost. What
// is not making is using then, so that quick takes need no look at the clock.
// Times are summed over windows of takes, so one that is slow by chance decides nothing; a window
// in which a thread costs several times what it saves is a short one. The more often the answer has
// changed, the more windows must agree before it does again. Several makers share the work of
// making, and slow each other down, so that their work says too much about what one alone would
// need. So does that of one where data cross from the cache of one processor to another's. Where
// little is gained, the consumer tries it, and the threads again later: what passes is compared
// with what passed before the change.
//
// Used by the consumer; what the maker has spent is told by it.
class HandOver final {
 public:
  // The beginning of a take, while it pays.
  void Asked(MonoTime now);
  // The end of a take of `rows` rows. `made_ns`: what making has taken since the beginning, of
  // `made_rows` rows, by all makers together; rows that were not timed are in neither. True when
  // the answer has changed.
  bool Took(MonoTime now, int64_t rows, int64_t made_ns, int64_t made_rows, int makers = 1);
  // The same while it does not pay, without a look at the clock; a later Took decides.
  void TookUntimed(int64_t rows);
  // The answer: true at first.
  bool pays() const { return pays_; }

  // For tests: the answer changes after every so many takes, whatever they cost; 0: as it should.
  static void ChangeEvery(int64_t takes);

 private:
  bool Weigh(double passed, double making, int makers, bool best);
  void Restart(MonoTime now, int64_t made_ns, int64_t made_rows);

  bool pays_ = true;
  MonoTime left_ = 0;    // the end of the last take
  MonoTime began_ = 0;   // of the window; 0: there is none yet
  int64_t first_ = 0;    // takes that are not counted: the first ones find nothing ready
  int64_t takes_ = 0;    // in the window, and so on
  double together_ = 0;  // rows of a take, in the window before
  int64_t rows_ = 0;
  MonoTime outside_ = 0;  // of takes, while it pays
  int64_t made_ns_ = 0;   // at its beginning
  int64_t made_rows_ = 0;
  double cost_ = 0;         // ns of a take from a thread, beyond the longer side
  double row_ = 0;          // ns of a row lately; 0: not known yet
  double other_ = 0;        // the same on the other side, before the change; 0: was compared
  bool doubts_ = false;     // what was counted is for a thread: to be without one is tried
  double each_before_ = 0;  // ns of the making of a row with threads; 0: was compared
  double slowing_ = 1;      // how much longer making took with threads
  int64_t agreed_ = 0;      // windows in a row that were for a change
  int64_t needed_ = 2;      // of them, to make it
};

}  // namespace penstock
