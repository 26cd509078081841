// A running stage: the one instrumented frame around every step.
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

// Made by Dataset::Start for one session and used by one thread at a time. Destroying it stops and
// joins its own threads.
class Iterator {
 public:
  virtual ~Iterator() = default;
  Iterator() = default;
  Iterator(const Iterator&) = delete;
  Iterator& operator=(const Iterator&) = delete;

  // The next element, an error at its position (the following call goes on after it), or the end
  // (again and again). Never throws.
  Step Next();
  // From 1 to max_rows consecutive elements, stacked where that is cheaper, then perhaps the error
  // or the end; never fewer rows than can be had without doing more work than the caller asked for.
  Block NextBlock(int64_t max_rows);
  // Passes over `steps` elements or errors that were delivered before (after a restore): cheaper
  // than Next where a stage can jump. Counts `steps` down; a transient error ends it early.
  virtual std::optional<Error> Discard(int64_t& steps);
  // Passes over up to `steps` elements or errors to count them, and computes no more than that
  // needs. Counts `steps` down: without an error, the rest is how many were missing before the end.
  virtual std::optional<Error> Pass(int64_t& steps);
  // The same where none of the steps is an error, because another process has made them or makes
  // them: a stage that makes as many elements as it pulls, or one of each so many, computes
  // nothing. After an error it is not known where the stage is: the run is thrown away.
  virtual std::optional<Error> PassSound(int64_t& steps);
  // Requests the beginning of the remote file that the first step needs, without waiting. Returns
  // the number of bytes received or requested: 0 if there is no such file, -1 while its size is
  // unknown. May be called before the first step only.
  virtual int64_t RequestFirst() { return 0; }
  // Saves or restores the position as of the last step delivered. Restoring happens before the
  // first step.
  virtual void VisitState(StateVisitor& visitor) = 0;

  // As users know the stage (map, however it is run).
  const std::string& name() const { return label_->kind; }
  // As states know it: stages that change nothing but the timing have one name, so that each takes
  // up what another one has saved.
  virtual std::string state_name() const { return name(); }
  const StageLabel& label() const { return *label_; }
  StageStats& stats() { return *stats_; }
  // `run_ends`: passing over steps ends when it is cancelled.
  void Attach(const StageLabel* label, const char* trace_name, StageStats* stats,
              CancelToken run_ends);

 protected:
  virtual Step DoNext() = 0;
  virtual Block DoNextBlock(int64_t max_rows);

  // Threads of the stage add what they spend to its busy time; its consumer only waits for them.
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

// The base of stages that make blocks: a step is a block of one row.
class BlockIterator : public Iterator {
 protected:
  Step DoNext() final { return DoNextBlock(1).ToStep(); }
  Block DoNextBlock(int64_t max_rows) override = 0;
};

}  // namespace penstock
