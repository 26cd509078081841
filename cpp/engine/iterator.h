// A running stage, and the instrumented frame around every step.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "data/block.h"
#include "engine/state.h"
#include "runtime/cancel.h"
#include "runtime/stage_label.h"
#include "runtime/stats.h"
#include "runtime/timed_steps.h"

namespace penstock {

// Created by Dataset::Start for one session; used by one thread at a time. The destructor stops and
// joins the stage's threads.
class Iterator {
 public:
  virtual ~Iterator() = default;
  Iterator() = default;
  Iterator(const Iterator&) = delete;
  Iterator& operator=(const Iterator&) = delete;

  // Returns the next element, an error at its position (the next call continues after it), or the
  // end (repeatedly). Never throws.
  Step Next();
  // Returns 1 to max_rows consecutive elements, stacked if that is cheaper, optionally followed by
  // an error or the end. Never returns fewer rows than are available without more work than the
  // caller asked for.
  Block NextBlock(int64_t max_rows);
  // Skips `steps` elements or errors that were already delivered before a restore. Cheaper than
  // Next if the stage can jump. Decrements `steps`; a transient error stops it early.
  virtual std::optional<Error> Discard(int64_t& steps);
  // Skips up to `steps` elements or errors to count them, with as little computation as possible.
  // Decrements `steps`: without an error, the remainder is the number of steps missing at the end.
  virtual std::optional<Error> Pass(int64_t& steps);
  // Like Pass, if none of the steps is an error because another process produces them. A stage that
  // emits one element per element or per fixed number of elements then computes nothing. After an
  // error the stage's position is unknown, and the run must be discarded.
  virtual std::optional<Error> PassSound(int64_t& steps);
  // Requests the beginning of the remote file that the first step needs, without waiting. Returns
  // the number of bytes received or requested: 0 if there is no such file, -1 while its size is
  // unknown. Call only before the first step.
  virtual int64_t RequestFirst() { return 0; }
  // Saves or restores the position after the last delivered step. Restore only before the first
  // step.
  virtual void VisitState(StateVisitor& visitor) = 0;

  // The name users know ("map" for every form of map).
  const std::string& name() const { return label_->kind; }
  // The name in states. Stages that affect only timing share one name, so each can restore the
  // state of another.
  virtual std::string state_name() const { return name(); }
  const StageLabel& label() const { return *label_; }
  StageStats& stats() { return *stats_; }
  // `run_ends`: cancelling it stops Discard and Pass.
  void Attach(const StageLabel* label, const char* trace_name, StageStats* stats,
              CancelToken run_ends);

 protected:
  virtual Step DoNext() = 0;
  virtual Block DoNextBlock(int64_t max_rows);

  // The stage's threads add to its busy time themselves; its consumer only waits for them.
  bool threads_add_busy_ = false;

 private:
  template <typename Answer, typename Call>
  Answer Framed(Call call);
  template <typename Answer, typename Call>
  Answer Guarded(Call& call);
  template <typename Answer, typename Call>
  Answer Untimed(Call& call);
  template <typename Answer, typename Call>
  Answer Timed(Call& call, int64_t start, bool traced);
  void Count(Step& step);
  void Count(Block& block);
  void AddCall(int64_t ns, const Step& step);
  void AddCall(int64_t ns, const Block& block);

  const StageLabel* label_ = nullptr;
  const char* trace_name_ = nullptr;
  StageStats* stats_ = nullptr;
  std::optional<CancelToken> run_ends_;
  int64_t steps_ = 0;
  TimedSteps<2000, 64> timing_;
};

using IteratorPtr = std::unique_ptr<Iterator>;

// Base class of stages that produce blocks: a step is a block of one row.
class BlockIterator : public Iterator {
 protected:
  Step DoNext() final { return DoNextBlock(1).ToStep(); }
  Block DoNextBlock(int64_t max_rows) override = 0;
};

}  // namespace penstock
