// AUTOTUNE of a run: grows and shrinks the widths of its stages as the model predicts.
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

// The maximum number of concurrent calls of a stage with the argument `calls`, perhaps kAutotune.
// For functions that only compute it is at most the number of threads, since more would only take
// turns.
int MostCalls(const Session& session, int64_t calls, const Function& function);

// Registers a stage as one of those that share AUTOTUNE's calls. Declare it before the stage's
// input.
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

// The width of a stage, and the measurements that its tuning is based on.
class TunedStage final {
 public:
  // `fixed`: the width stays at `most`. Otherwise it starts at `start`, or at the value in the
  // options, and moves up to `most` while the session has calls left.
  TunedStage(Session& session, std::string path, StageLabel stage, int start, int most, bool fixed);
  ~TunedStage();
  TunedStage(const TunedStage&) = delete;
  TunedStage& operator=(const TunedStage&) = delete;

  int width() const { return width_.load(std::memory_order_relaxed); }  // publishes nothing
  // Whether to measure anything.
  bool moves() const { return moves_; }
  // Called by any of the stage's threads.
  void Called(int64_t ns, int64_t cpu_ns) {
    Add(called_ns_, ns);
    Add(cpu_ns_, cpu_ns);
  }
  void Pulled(int64_t ns) { Add(pulled_ns_, ns); }
  void Made(int64_t bytes) { Add(made_bytes_, bytes); }
  // Called by its consumer.
  void Waited(int64_t ns) { Add(waited_ns_, ns); }
  void Delivered(int64_t steps) { Add(delivered_, steps); }
  // Makes the run's next decision if it is due. Returns whether the stage's width has changed.
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
    count.fetch_add(more, std::memory_order_relaxed);  // an independent counter
  }
  int Start(int start) const;
  StageWindow Since();

  Session& session_;
  const std::string path_;
  const StageLabel stage_;
  const int most_;
  const int least_;
  const bool takes_;  // takes calls of the session
  const bool moves_;
  std::atomic<int> width_;
  int width_seen_;  // by Tune
  std::atomic<int64_t> delivered_{0};
  std::atomic<int64_t> called_ns_{0};
  std::atomic<int64_t> cpu_ns_{0};
  std::atomic<int64_t> pulled_ns_{0};
  std::atomic<int64_t> waited_ns_{0};
  std::atomic<int64_t> made_bytes_{0};
  Counts before_;  // at the last decision; owned by RunTuner
};

// Decides every half second for all stages of a run, on whichever thread calls it first.
class RunTuner final {
 public:
  void Add(TunedStage& stage);
  void Remove(TunedStage& stage);
  // The last width of an ended stage at this path, for example of the previous epoch.
  std::optional<int> Former(const std::string& path) const;
  void Decide(Session& session);

 private:
  PipelineWindow Gather(const Session& session, int64_t now);
  void Restart();

  std::atomic<int64_t> next_ns_{0};  // on the clock; publishes nothing
  mutable std::mutex mutex_;  // protects all below; only the session's logs are locked under it
  std::vector<TunedStage*> stages_;  // a consumer comes after its inputs
  std::map<std::string, int> former_;
  std::optional<Tuner> tuner_;
  int64_t since_ns_ = 0;
  int64_t cpu_before_ns_ = 0;
  int64_t ready_before_ns_ = 0;
};

}  // namespace penstock
