// How many rows a block contains.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "runtime/thread_pool.h"

namespace penstock {

// Passing a block on costs hundreds of nanoseconds, whatever its size: pulling it, saving a state
// before it, waking the thread that waits for it. Many cheap rows share that cost. Slow rows
// usually gain little and would wait for each other, so they are passed individually. But a stage
// that takes many rows together (such as a native function of hundreds of operations) may be as
// fast with hundreds as with one, which a trial shows. Rows that are copied or kept must not hold
// much memory together. So a stage that pulls asks for
// - as many rows as its own consumer asked for, if it only passes them on;
// - as many as Grain recommends, if it runs ahead of its consumer;
// - as many as BytesTogether recommends, if it copies rows or keeps them for long;
// - and never more than kMostBlockRows, where many may be requested.

// With this many rows, the cost per block is negligible. An error, a signal or a close waits for at
// most this many rows.
inline constexpr int64_t kMostBlockRows = 1024;

// The number of rows that take a given time: one at first and while rows are slow, more as long as
// they are cheap. Now and then, two slow rows are requested together. If each takes much less time
// than alone, four are tried, and so on while that helps. Otherwise the next trial comes after
// twice as many blocks. Rows that call Python gain nothing, so they have no trials.
class Grain {
 public:
  // For a thread that runs ahead: 200 us, or 1 ms in Python's lane, where passing a block on means
  // a GIL handover (about 50 us). Growing takes several blocks each time, so the first calls of a
  // function run on individual rows, with the requested concurrency.
  static Grain Ahead(Lane lane) {
    const bool python = lane == Lane::kPython;
    return {python ? 1'000'000 : 200'000, 8, !python};
  }
  // For the thread that needs the rows, if no user function is called for them.
  static Grain AsWanted() { return {100'000, 1, true}; }

  int64_t rows() const { return rows_; }
  // Continues from the row count of another Grain.
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
  static constexpr int64_t kLongRow = 20'000'000;  // ns; longer rows are never combined
  static constexpr int kFirstWait = 8;             // slow blocks before a trial
  static constexpr int kMostWait = 1024;

  Grain(int64_t block_ns, int cheap_blocks, bool tries)
      : block_ns_(block_ns), to_grow_(cheap_blocks), tries_(tries) {}

  // Whether a time `each` per row is much shorter than `before`, if that is known.
  static bool Helps(int64_t each, int64_t before) {
    return before != kUnknown && each < before - before / 4;
  }
  // Requests twice as many rows as the ones that took `each`.
  void Try(int64_t each) {
    each_ns_ = each;
    trial_ = rows_ < kMostBlockRows;
    if (trial_) rows_ *= 2;
  }

  int64_t block_ns_;
  int to_grow_;  // cheap blocks needed to grow; cheap: under half of block_ns_
  bool tries_;
  int64_t rows_ = 1;
  int cheap_ = 0;                // cheap blocks since rows_ changed
  int64_t alone_ns_ = kUnknown;  // the minimum time of a slow row alone
  int64_t each_ns_ = 0;          // per row, before the trial
  bool trial_ = false;           // whether the next block is a trial
  int pause_ = kFirstWait;       // slow blocks before the next trial
  int wait_ = kFirstWait;        // initial value of pause_
};

// The number of rows with a given total size, estimated from the previous block; one at first.
class BytesTogether {
 public:
  // 0: no limit.
  explicit BytesTogether(int64_t bytes)
      : bytes_(bytes), rows_(bytes == 0 ? std::numeric_limits<int64_t>::max() : 1) {}
  bool limited() const { return bytes_ > 0; }
  int64_t rows() const { return rows_; }
  // Reports that a block of `rows` rows had `bytes` bytes. `alone`: such rows must be pulled
  // individually.
  void Learn(int64_t rows, size_t bytes, bool alone) {
    const int64_t each = static_cast<int64_t>(bytes) / rows;
    rows_ = alone ? 1 : std::max<int64_t>(bytes_ / (each + 1), 1);
  }

 private:
  int64_t bytes_;
  int64_t rows_;
};

}  // namespace penstock
