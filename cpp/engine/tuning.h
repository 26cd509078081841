// AUTOTUNE of a run: widths of its stages that grow or shrink by what the model expects of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/stage_label.h"
#include "runtime/tuner.h"

namespace penstock {

class Function;
class Session;

// How many concurrent calls a stage may have that was given `calls`, perhaps kAutotune. Calls that
// only compute would take turns if they were more than the threads.
int MostCalls(const Session& session, int64_t calls, const Function& function);

// A stage's membership among those that share the calls of AUTOTUNE. It is declared before the
// stage's input.
class CallShare final {
 public:
  CallShare(Session& session, bool takes);
  ~CallShare();
  CallShare(const CallShare&) = delete;
  CallShare& operator=(const CallShare&) = delete;

 private:
  Session& session_;
  const int stages_;
};

// The width of a stage and what its tuning is decided by.
class TunedStage final {
 public:
  // `fixed`: the width stays at `most`. Else it starts at `start`, or what the options say instead,
  // and moves up to `most` as far as the calls of the session suffice.
  TunedStage(Session& session, std::string path, StageLabel stage, int start, int most, bool fixed);
  ~TunedStage();
  TunedStage(const TunedStage&) = delete;
  TunedStage& operator=(const TunedStage&) = delete;

  int width() const { return width_.load(std::memory_order_relaxed); }  // it orders nothing
  // Whether anything is to be counted.
  bool moves() const { return moves_; }
  // From any of the stage's threads.
  void Called(int64_t ns, int64_t cpu_ns) {
    Add(called_ns_, ns);
    Add(cpu_ns_, cpu_ns);
  }
  void Pulled(int64_t ns) { Add(pulled_ns_, ns); }
  void Made(int64_t bytes) { Add(made_bytes_, bytes); }
  // From its consumer.
  void Waited(int64_t ns) { Add(waited_ns_, ns); }
  void Delivered(int64_t steps) { Add(delivered_, steps); }
  // Decides for the run when it is time to. Whether the stage's width is another than before.
  bool Tune();

 private:
  friend class RunTuner;
  struct Counts {
    int64_t delivered = 0;
    int64_t called_ns = 0;
    int64_t cpu_ns = 0;
    int64_t pulled_ns = 0;
    int64_t waited_ns = 0;
    int64_t made_bytes = 0;
  };

  static void Add(std::atomic<int64_t>& count, int64_t more) {
    count.fetch_add(more, std::memory_order_relaxed);  // it stands alone
  }
  int Start(int start) const;
  StageWindow Since();

  Session& session_;
  const std::string path_;
  const StageLabel stage_;
  const int most_;
  const int least_;
  const bool takes_;  // calls of the session
  const bool moves_;
  std::atomic<int> width_;
  int width_seen_;  // by Tune
  std::atomic<int64_t> delivered_{0};
  std::atomic<int64_t> called_ns_{0};
  std::atomic<int64_t> cpu_ns_{0};
  std::atomic<int64_t> pulled_ns_{0};
  std::atomic<int64_t> waited_ns_{0};
  std::atomic<int64_t> made_bytes_{0};
  Counts before_;  // at the last decision; RunTuner's
};

// Decides every half second for all stages of a run, on the thread that comes along.
class RunTuner final {
 public:
  void Add(TunedStage& stage);
  void Remove(TunedStage& stage);
  // The width of a stage at this path that has ended, such as that of the epoch before.
  std::optional<int> Former(const std::string& path) const;
  void Decide(Session& session);

 private:
  PipelineWindow Gather(const Session& session, int64_t now);
  void Restart();

  std::atomic<int64_t> next_ns_{0};  // of the clock; it orders nothing
  mutable std::mutex mutex_;         // a leaf but for the session's logs, over all below
  std::vector<TunedStage*> stages_;  // a consumer after what it takes from
  std::map<std::string, int> former_;
  std::optional<Tuner> tuner_;
  int64_t since_ns_ = 0;
  int64_t cpu_before_ns_ = 0;
  int64_t ready_before_ns_ = 0;
};

}  // namespace penstock
