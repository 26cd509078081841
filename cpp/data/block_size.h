// How many rows travel together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "runtime/thread_pool.h"

namespace penstock {

// To hand on a block costs some hundred nanoseconds, whatever is in it: to pull it, to keep a state
// before it, to wake the thread that waits for it. Many cheap rows share that cost. Slow rows
// mostly gain little and wait for each other, so they travel alone; but what takes rows at once may
// be as fast with hundreds as with one (a native function of hundreds of operations), which a trial
// shows. Rows that are copied or kept must not hold much memory at once. Hence whoever pulls asks
// - for as many rows as its own consumer has asked for, where it only passes them on;
// - for as many as Grain says, where it runs ahead of its consumer;
// - for as many as BytesTogether says, where it copies rows or keeps them for long;
// and in each case for kMostBlockRows at most, where many may be asked for.

// With this many rows, what is done once for a block no longer matters. An error, a signal or a
// close waits for these rows at most.
inline constexpr int64_t kMostBlockRows = 1024;

// The number of rows that take a given time: one at first and while rows are slow, more and more
// when they are cheap. Slow rows are asked for in twos now and then. If each of them takes much
// less time than alone, then in fours, and so on as long as that helps; if not, the next trial
// comes after twice as many blocks. Rows that call Python gain nothing, so there are no trials.
class Grain {
 public:
  // For a thread that runs ahead: 200 us, or 1 ms in Python's lane, where handing over costs a
  // change of the GIL's holder (some 50 us). Growth takes some blocks each time: the first calls of
  // a function run one by one, as many at a time as were asked for.
  static Grain Ahead(Lane lane) {
    const bool python = lane == Lane::kPython;
    return {python ? 1'000'000 : 200'000, 8, !python};
  }
  // For the thread that wants the rows, where no function of the user is called for them.
  static Grain AsWanted() { return {100'000, 1, true}; }

  int64_t rows() const { return rows_; }
  // Goes on where another one has ended, which had the same rows.
  Grain From(int64_t rows) && {
    rows_ = rows;
    return *this;
  }
  // Reports that a block of `rows` rows took `nanoseconds`.
  void Learn(int64_t rows, int64_t nanoseconds) {
    if (rows == 0) return;
    const int64_t each = nanoseconds / rows;
    if (trial_) {
      trial_ = false;
      if (rows < rows_ || !Helps(each, each_ns_)) {
        rows_ /= 2;
        pause_ = wait_ = std::min(2 * wait_, kMostWait);
      } else {
        wait_ = kFirstWait;
        Try(each);
      }
    } else if (each >= block_ns_ / 2 && !(rows_ > 1 && Helps(each, alone_ns_))) {
      cheap_ = 0;
      if (std::exchange(rows_, 1) > 1 || rows > 1) alone_ns_ = kUnknown;
      if (rows == 1) alone_ns_ = std::min(alone_ns_, each);
      if (tries_ && alone_ns_ < kLongRow && --pause_ <= 0) Try(alone_ns_);
    } else if (nanoseconds < block_ns_ / 2 && rows == rows_ && ++cheap_ >= to_grow_) {
      rows_ = std::min(rows_ * 2, kMostBlockRows);
      cheap_ = 0;
    } else if (nanoseconds > 2 * std::max(block_ns_, alone_ns_ == kUnknown ? 0 : alone_ns_)) {
      rows_ = std::max<int64_t>(rows_ / 2, 1);
    }
  }

 private:
  static constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();
  static constexpr int64_t kLongRow = 20'000'000;  // ns; such a row waits for no other
  static constexpr int kFirstWait = 8;             // slow blocks before a trial
  static constexpr int kMostWait = 1024;

  Grain(int64_t block_ns, int cheap_blocks, bool tries)
      : block_ns_(block_ns), to_grow_(cheap_blocks), tries_(tries) {}

  // Whether rows that take `each` are much faster than rows that take `before`, if that is known.
  static bool Helps(int64_t each, int64_t before) {
    return before != kUnknown && each < before - before / 4;
  }
  // Asks for twice as many rows as those that took `each`.
  void Try(int64_t each) {
    each_ns_ = each;
    trial_ = rows_ < kMostBlockRows;
    if (trial_) rows_ *= 2;
  }

  int64_t block_ns_;
  int to_grow_;  // blocks of less than half that time
  bool tries_;
  int64_t rows_ = 1;
  int cheap_ = 0;                // blocks since it has changed
  int64_t alone_ns_ = kUnknown;  // the least time of a slow row that came alone
  int64_t each_ns_ = 0;          // of a row, before the trial
  bool trial_ = false;           // whether the next block is one
  int pause_ = kFirstWait;       // slow blocks before the next trial
  int wait_ = kFirstWait;        // what it was last
};

// The number of rows that have a given number of bytes, estimated from the block before: one at
// first.
class BytesTogether {
 public:
  // 0: there is no limit.
  explicit BytesTogether(int64_t bytes)
      : bytes_(bytes), rows_(bytes == 0 ? std::numeric_limits<int64_t>::max() : 1) {}
  bool limited() const { return bytes_ > 0; }
  int64_t rows() const { return rows_; }
  // Reports that a block of `rows` rows had `bytes` bytes; with `alone` such rows come one by one.
  void Learn(int64_t rows, size_t bytes, bool alone) {
    const int64_t each = static_cast<int64_t>(bytes) / rows;
    rows_ = alone ? 1 : std::max<int64_t>(bytes_ / (each + 1), 1);
  }

 private:
  int64_t bytes_;
  int64_t rows_;
};

}  // namespace penstock
