// Measures the stages of a run, decides about their widths, and logs the moves.
#include "engine/tuning.h"

#include <algorithm>
#include <utility>

#include "compute/function.h"
#include "engine/session.h"
#include "runtime/clock.h"
#include "runtime/cpu.h"
#include "runtime/thread_state.h"

namespace penstock {
namespace {

constexpr int64_t kWindowNs = 500'000'000;

// For functions that wait: the usual size of a thread pool for I/O.
constexpr int64_t kMostAutotunedCalls = 64;
constexpr int64_t kMostThreads = 1 << 20;  // more than a system can have

}  // namespace

int MostCalls(const Session& session, int64_t calls, const Function& function) {
  const bool compute = !function.needs_lock();
  if (calls == kAutotune) {
    const RunOptions& options = session.options();
    // A process uses memory, and more processes than CPUs would only wait for a CPU.
    calls = std::max(session.threads(), 2);
    if (!function.may_have_workers()) calls = std::max(kMostAutotunedCalls, 2 * calls);
    calls = std::max({calls, options.least_calls, options.first_calls});
    if (options.cpu_budget > 0) calls = std::min(calls, options.cpu_budget);
  }
  if (compute) calls = std::min<int64_t>(calls, session.threads());
  return static_cast<int>(std::clamp<int64_t>(calls, 1, kMostThreads));
}

CallShare::CallShare(Session& session, bool takes) : session_(session), stages_(takes ? 1 : 0) {
  session_.ShareCalls(stages_);
}

CallShare::~CallShare() { session_.ShareCalls(-stages_); }

TunedStage::TunedStage(Session& session, std::string path, StageLabel stage, int start, int most,
                       bool fixed)
    : session_(session),
      path_(std::move(path)),
      stage_(std::move(stage)),
      most_(most),
      least_(static_cast<int>(std::clamp<int64_t>(session.options().least_calls, 1, most))),
      takes_(!fixed),
      moves_(takes_ && session.options().tunes),
      width_(fixed ? most : Start(start)),
      width_seen_(width()) {
  if (moves_) session_.tuner().Add(*this);
}

TunedStage::~TunedStage() {
  if (moves_) session_.tuner().Remove(*this);
  if (takes_) session_.GiveCalls(width());
}

int TunedStage::Start(int start) const {
  int64_t wanted = session_.options().first_calls;
  if (wanted <= 0) wanted = start;
  if (const auto former = session_.tuner().Former(path_)) wanted = *former;
  return static_cast<int>(session_.TakeFirstCalls(std::clamp<int64_t>(wanted, least_, most_)));
}

bool TunedStage::Tune() {
  if (!moves_) return false;
  session_.tuner().Decide(session_);
  return std::exchange(width_seen_, width()) != width_seen_;
}

// The counts since the last call.
StageWindow TunedStage::Since() {
  const auto read = [](const auto& count) { return count.load(std::memory_order_relaxed); };
  const Counts now{read(delivered_), read(called_ns_), read(cpu_ns_),
                   read(pulled_ns_), read(waited_ns_), read(made_bytes_)};
  const Counts then = std::exchange(before_, now);
  const auto seconds = [](int64_t end, int64_t start) {
    return static_cast<double>(end - start) * 1e-9;
  };
  StageWindow window;
  window.width = width();
  window.least = least_;
  window.most = most_;
  window.delivered = static_cast<double>(now.delivered - then.delivered);
  window.called = seconds(now.called_ns, then.called_ns);
  window.cpu = seconds(now.cpu_ns, then.cpu_ns);
  window.pulled = seconds(now.pulled_ns, then.pulled_ns);
  window.waited = seconds(now.waited_ns, then.waited_ns);
  window.bytes = static_cast<double>(now.made_bytes - then.made_bytes);
  return window;
}

void RunTuner::Add(TunedStage& stage) {
  const std::lock_guard lock(mutex_);
  // A stage's path starts with that of its consumer.
  const auto after = std::find_if(stages_.begin(), stages_.end(), [&](const TunedStage* other) {
    return other->path_.size() < stage.path_.size();
  });
  stages_.insert(after, &stage);
  Restart();
}

void RunTuner::Remove(TunedStage& stage) {
  const std::lock_guard lock(mutex_);
  std::erase(stages_, &stage);
  former_[stage.path_] = stage.width();
  Restart();
}

std::optional<int> RunTuner::Former(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  const auto found = former_.find(path);
  if (found == former_.end()) return std::nullopt;
  return found->second;
}

// Called under the lock: the windows start with the next look.
void RunTuner::Restart() {
  tuner_.reset();
  next_ns_.store(0, std::memory_order_relaxed);
}

PipelineWindow RunTuner::Gather(const Session& session, int64_t now) {
  PipelineWindow window;
  window.seconds = static_cast<double>(now - since_ns_) * 1e-9;
  window.processors = CpuCount();
  window.memory = static_cast<double>(session.budget().limit());
  window.memory_used = static_cast<double>(session.budget().used());
  double cpu = 0;
  for (size_t s = 0; s < stages_.size(); ++s) {
    StageWindow& stage = window.stages.emplace_back(stages_[s]->Since());
    cpu += stage.cpu;
    for (size_t after = s + 1; after < stages_.size(); ++after) {
      if (!stages_[s]->path_.starts_with(stages_[after]->path_ + ".")) continue;
      stage.consumer = static_cast<int>(after);
      break;
    }
  }
  const int64_t cpu_ns = ProcessCpuNs();
  window.elsewhere = std::max(static_cast<double>(cpu_ns - cpu_before_ns_) * 1e-9 - cpu, 0.0);
  cpu_before_ns_ = cpu_ns;
  // Threads that have ended are not counted, so the sum may decrease.
  const int64_t ready_ns = AllReadyNs();
  window.ready = std::max(static_cast<double>(ready_ns - ready_before_ns_) * 1e-9, 0.0);
  ready_before_ns_ = ready_ns;
  since_ns_ = now;
  return window;
}

void RunTuner::Decide(Session& session) {
  const int64_t now = NowNs();
  if (now < next_ns_.load(std::memory_order_relaxed)) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || now < next_ns_.load(std::memory_order_relaxed) || stages_.empty()) return;
  next_ns_.store(now + kWindowNs, std::memory_order_relaxed);
  PipelineWindow window = Gather(session, now);
  if (!tuner_) {  // the first look only starts a window
    tuner_.emplace();
    return;
  }
  int before = 0;
  int64_t room = 0;
  for (const StageWindow& stage : window.stages) {
    before += stage.width;
    room += stage.most - stage.width;
  }
  // Take as many calls as could be useful; the rest is returned below.
  const int64_t extra = session.TakeCalls(0, room);
  if (session.options().cpu_budget > 0) window.budget = before + static_cast<int>(extra);
  const size_t logged = tuner_->log().size();
  const std::vector<int> widths = tuner_->Decide(window);
  int after = 0;
  for (size_t s = 0; s < widths.size(); ++s) {
    after += widths[s];
    stages_[s]->width_.store(widths[s], std::memory_order_relaxed);
  }
  session.GiveCalls(extra - (after - before));
  for (size_t m = logged; m < tuner_->log().size(); ++m) {
    const TunerMove& move = tuner_->log()[m];
    session.LogMove({0, stages_[move.stage]->stage_, "num_parallel_calls", move.old_value,
                     move.new_value, move.reason});
  }
}

}  // namespace penstock
