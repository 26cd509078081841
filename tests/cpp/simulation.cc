// The events of a simulated pipeline, one after another.
#include "simulation.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>
#include <limits>
#include <queue>
#include <random>
#include <utility>

namespace penstock::testing {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kWindow = 0.5;  // as in the engine
constexpr int kFirstBuffer = 2;  // as in the engine
constexpr int kMostBuffer = 64;

class Simulation {
 public:
  Simulation(const SimulatedPipeline& pipeline, std::vector<int> widths, uint64_t seed)
      : pipeline_(pipeline), random_(seed), disk_{pipeline.disk, {}} {
    for (size_t s = 0; s < pipeline.stages.size(); ++s) {
      Stage& stage = stages_.emplace_back();
      stage.work = pipeline.stages[s].work;
      stage.bytes = pipeline.stages[s].bytes;
      stage.buffer = pipeline.stages[s].buffer;
      stage.counted.width = widths[s];
    }
    consumer_work_ = pipeline.consumer;
    for (size_t s = 0; s < stages_.size(); ++s) Widen(s, widths[s]);
    consumer_ = NewThread(stages_.size());
    Want(consumer_);
  }

  Ran Run(double seconds, double change_at, const Controller& controller) {
    tunes_ = static_cast<bool>(controller);
    double decide_at = controller ? kWindow : kNever;
    if (pipeline_.later.empty()) change_at = kNever;
    while (now_ < seconds) {
      const double next_processor =
          computing_.empty() ? kNever : now_ + (computing_.top().first - virtual_) / Speed();
      const double next_timer = timers_.empty() ? kNever : timers_.top().first;
      const double next = std::min({next_processor, next_timer, decide_at, change_at, seconds});
      if (next == kNever) break;
      virtual_ += (next - now_) * Speed();
      now_ = next;
      if (next == change_at) {
        change_at = kNever;
        for (size_t s = 0; s < stages_.size(); ++s) stages_[s].work = pipeline_.later[s];
        consumer_work_ = pipeline_.later.back();
      } else if (next == decide_at) {
        decide_at += kWindow;
        Control(controller);
      } else if (next == next_timer) {
        const int thread = timers_.top().second;
        timers_.pop();
        Advance(thread);
      } else if (next == next_processor) {
        const int thread = computing_.top().second;
        computing_.pop();
        ready_ += std::max(now_ - threads_[static_cast<size_t>(thread)].computed_at, 0.0);
        Advance(thread);
      }
    }
    ran_.outputs.resize(static_cast<size_t>(seconds * 10), 0);
    return std::move(ran_);
  }

 private:
  enum class Phase {
    kIdle,
    kInput,
    kPull,
    kGilWait,
    kGil,
    kCpu,
    kDiskWait,
    kDisk,
    kSleep,
    kLockWait,
    kLock
  };

  struct Thread {
    size_t stage = 0;
    size_t number = 0;  // among the threads of its stage
    Phase phase = Phase::kIdle;
    int64_t element = 0;
    double factor = 1;       // multiplies the times of this element
    double began = 0;        // start of the pull, the call or the wait
    double computed_at = 0;  // when its computation ends if it has a processor to itself
  };
  // Held by a few threads at a time, granted in the order of the requests.
  struct Semaphore {
    int left = 1;
    std::deque<int> queue;
  };
  struct Stage {
    Work work;
    int64_t bytes = 1;
    bool buffer = false;
    bool was_full = false;  // since it was last found empty
    ElementTimes made, used;
    double taken_at = -1;
    Counted counted;
    std::vector<int> threads;
    std::vector<int> parked;
    Semaphore input;
    Semaphore lock;
    int room_waiter = -1;
    int taker = -1;    // the thread that waits for the next element
    int64_t head = 0;  // the next element to be taken
    int64_t next = 0;  // the next element to begin
    int64_t charged = 0;
    std::deque<bool> ready;  // from `head` on
  };
  using Timers = std::priority_queue<std::pair<double, int>, std::vector<std::pair<double, int>>,
                                     std::greater<>>;

  double Speed() const {
    const auto running = static_cast<double>(computing_.size());
    return std::min(1.0, pipeline_.processors / std::max(running, 1.0));
  }

  int NewThread(size_t stage) {
    threads_.emplace_back();
    threads_.back().stage = stage;
    return static_cast<int>(threads_.size()) - 1;
  }

  void Widen(size_t s, int width) {
    Stage& stage = stages_[s];
    stage.counted.width = width;
    std::vector<int> woken;
    woken.swap(stage.parked);
    for (const int t : woken) Want(t);
    const int threads = stage.buffer ? 1 : width;
    while (static_cast<int>(stage.threads.size()) < threads) {
      const int t = NewThread(s);
      threads_[static_cast<size_t>(t)].number = stage.threads.size();
      stage.threads.push_back(t);
      Want(t);
    }
    WakeRoom(s);
  }

  void Control(const Controller& controller) {
    std::vector<Counted> counted;
    for (const Stage& stage : stages_) counted.push_back(stage.counted);
    // Waits in progress count too.
    for (size_t s = 0; s < stages_.size(); ++s) {
      if (stages_[s].taker >= 0) {
        counted[s].waited += now_ - threads_[static_cast<size_t>(stages_[s].taker)].began;
      }
      for (const int t : stages_[s].threads) {
        const Thread& thread = threads_[static_cast<size_t>(t)];
        if (thread.phase == Phase::kInput || thread.phase == Phase::kPull) {
          counted[s].pulled += now_ - thread.began;
        } else if (thread.phase != Phase::kIdle) {
          counted[s].called += now_ - thread.began;
        }
      }
    }
    counted.emplace_back().cpu = elsewhere_;
    counted.back().bytes = static_cast<double>(bytes_);
    counted.back().ready = ready_;
    const std::vector<int> widths = controller(now_, counted);
    for (size_t s = 0; s < stages_.size(); ++s) {
      if (widths[s] != stages_[s].counted.width) Widen(s, widths[s]);
    }
  }

  void Compute(int t, Phase phase, double seconds) {
    Thread& thread = threads_[static_cast<size_t>(t)];
    thread.phase = phase;
    const bool calls = thread.stage < stages_.size() && phase != Phase::kPull;
    (calls ? stages_[thread.stage].counted.cpu : elsewhere_) += seconds;
    thread.computed_at = now_ + seconds;
    computing_.push({virtual_ + seconds, t});
  }
  void Sleep(int t, Phase phase, double seconds) {
    threads_[static_cast<size_t>(t)].phase = phase;
    timers_.push({now_ + seconds, t});
  }
  // True if the thread goes on at once.
  static bool Take(Semaphore& semaphore, int t) {
    if (semaphore.left > 0) {
      --semaphore.left;
      return true;
    }
    semaphore.queue.push_back(t);
    return false;
  }
  void Give(Semaphore& semaphore) {
    if (semaphore.queue.empty()) {
      ++semaphore.left;
      return;
    }
    const int next = semaphore.queue.front();
    semaphore.queue.pop_front();
    Granted(next);
  }

  // A thread that has no element asks for one.
  void Want(int t) {
    Thread& thread = threads_[static_cast<size_t>(t)];
    thread.phase = Phase::kIdle;
    if (thread.stage == stages_.size()) return FromBefore(t);
    Stage& stage = stages_[thread.stage];
    if (static_cast<int>(thread.number) >= stage.counted.width) {
      stage.parked.push_back(t);
      return;
    }
    if (Take(stage.input, t)) HasInput(t);
  }

  void HasInput(int t) {
    Thread& thread = threads_[static_cast<size_t>(t)];
    Stage& stage = stages_[thread.stage];
    if (!Room(stage)) {
      stage.room_waiter = t;
      return;
    }
    stage.charged += stage.bytes;
    bytes_ += stage.bytes;
    ran_.most_bytes = std::max(ran_.most_bytes, bytes_);
    FromBefore(t);
  }

  bool Room(const Stage& stage) const {
    const int limit = stage.buffer ? stage.counted.width : std::max(2 * stage.counted.width, 4);
    if (stage.next - stage.head >= limit) return false;
    return stage.next == stage.head || bytes_ + stage.bytes <= pipeline_.memory_limit;
  }

  void WakeRoom(size_t s) {
    const int t = stages_[s].room_waiter;
    if (t < 0 || !Room(stages_[s])) return;
    stages_[s].room_waiter = -1;
    HasInput(t);
  }

  // Takes an element from the stage before.
  void FromBefore(int t) {
    Thread& thread = threads_[static_cast<size_t>(t)];
    thread.began = now_;
    thread.phase = Phase::kInput;
    if (thread.stage == 0) return Pull(t);
    Stage& before = stages_[thread.stage - 1];
    if (before.buffer) AskBuffer(thread.stage - 1);
    if (before.ready.empty() || !before.ready.front()) {
      before.taker = t;
      return;
    }
    TakeFrom(thread.stage - 1);
    Pull(t);
  }

  // What the engine does when an element is taken.
  void AskBuffer(size_t s) {
    Stage& stage = stages_[s];
    if (stage.taken_at >= 0) stage.used.Add(static_cast<int64_t>((now_ - stage.taken_at) * 1e9), 1);
    const auto held = static_cast<int64_t>(stage.ready.size()) -
                      (stage.ready.empty() || stage.ready.back() ? 0 : 1);
    if (held >= stage.counted.width) stage.was_full = true;
    if (held > 0 || !std::exchange(stage.was_full, false) || !tunes_) return;
    const int most = MostWidth(pipeline_, pipeline_.stages[s]);
    const int64_t model = BufferFor(stage.made.Get(), stage.used.Get(), most);
    const int64_t affordable = held + pipeline_.memory_limit - bytes_;
    const int64_t size =
        std::min({std::max<int64_t>(model, 2 * stage.counted.width), affordable, int64_t{most}});
    if (size > stage.counted.width) Widen(s, static_cast<int>(size));
  }

  void TakeFrom(size_t s) {
    Stage& stage = stages_[s];
    stage.taken_at = now_;
    stage.ready.pop_front();
    ++stage.head;
    ++stage.counted.delivered;
    stage.charged -= stage.bytes;
    bytes_ -= stage.bytes;
    for (size_t other = 0; other < stages_.size(); ++other) WakeRoom(other);
  }

  void Pull(int t) {
    Thread& thread = threads_[static_cast<size_t>(t)];
    const Work& work = WorkOf(thread);
    thread.factor = Factor(work);
    Compute(t, Phase::kPull, work.pull * thread.factor);
  }

  const Work& WorkOf(const Thread& thread) const {
    return thread.stage < stages_.size() ? stages_[thread.stage].work : consumer_work_;
  }

  double Factor(const Work& work) {
    const double uniform = std::uniform_real_distribution<>(-1, 1)(random_);
    double factor = 1 + work.jitter * uniform;
    if (std::uniform_real_distribution<>()(random_) < work.straggler) factor *= 10;
    return factor;
  }

  // The thread has what it waited for in a queue.
  void Granted(int t) {
    Thread& thread = threads_[static_cast<size_t>(t)];
    const Work& work = WorkOf(thread);
    switch (thread.phase) {
      case Phase::kIdle:
        return HasInput(t);
      case Phase::kGilWait:
        return Compute(t, Phase::kGil, work.gil * thread.factor);
      case Phase::kDiskWait:
        return Sleep(t, Phase::kDisk, work.disk * thread.factor);
      default:
        return Compute(t, Phase::kLock, work.lock * thread.factor);
    }
  }

  // The thread's phase is over.
  void Advance(int t) {
    Thread& thread = threads_[static_cast<size_t>(t)];
    const Work& work = WorkOf(thread);
    switch (thread.phase) {
      case Phase::kPull:
        Pulled(t);
        [[fallthrough]];
      case Phase::kGilWait:
        if (work.gil > 0) return Queue(t, Phase::kGilWait, gil_);
        return Compute(t, Phase::kCpu, work.cpu * thread.factor);
      case Phase::kGil:
        Give(gil_);
        return Compute(t, Phase::kCpu, work.cpu * thread.factor);
      case Phase::kCpu:
        if (work.disk > 0) return Queue(t, Phase::kDiskWait, disk_);
        return Sleep(t, Phase::kSleep, work.sleep * thread.factor);
      case Phase::kDisk:
        Give(disk_);
        return Sleep(t, Phase::kSleep, work.sleep * thread.factor);
      case Phase::kSleep:
        if (work.lock > 0) return Queue(t, Phase::kLockWait, LockOf(thread));
        return Done(t);
      case Phase::kLock:
        Give(LockOf(thread));
        return Done(t);
      default:
        return;
    }
  }

  Semaphore& LockOf(const Thread& thread) {
    return thread.stage < stages_.size() ? stages_[thread.stage].lock : consumer_lock_;
  }

  void Queue(int t, Phase phase, Semaphore& semaphore) {
    threads_[static_cast<size_t>(t)].phase = phase;
    if (Take(semaphore, t)) Granted(t);
  }

  void Pulled(int t) {
    Thread& thread = threads_[static_cast<size_t>(t)];
    if (thread.stage == stages_.size()) {
      thread.began = now_;
      return;
    }
    Stage& stage = stages_[thread.stage];
    stage.made.Add(static_cast<int64_t>((now_ - thread.began) * 1e9), 1);
    stage.counted.pulled += now_ - thread.began;
    thread.began = now_;
    thread.element = stage.next++;
    stage.ready.push_back(false);
    thread.phase = Phase::kGilWait;  // no longer idle, so that others may be granted the input
    Give(stage.input);
  }

  void Done(int t) {
    Thread& thread = threads_[static_cast<size_t>(t)];
    if (thread.stage == stages_.size()) {
      const auto tenth = static_cast<size_t>(now_ * 10);
      if (ran_.outputs.size() <= tenth) ran_.outputs.resize(tenth + 1, 0);
      ++ran_.outputs[tenth];
      return Want(t);
    }
    Stage& stage = stages_[thread.stage];
    stage.counted.called += now_ - thread.began;
    stage.counted.bytes += static_cast<double>(stage.bytes);
    stage.ready[static_cast<size_t>(thread.element - stage.head)] = true;
    const size_t s = thread.stage;
    Want(t);
    if (stages_[s].taker >= 0 && stages_[s].ready.front()) {
      const int taker = std::exchange(stages_[s].taker, -1);
      stages_[s].counted.waited += now_ - threads_[static_cast<size_t>(taker)].began;
      TakeFrom(s);
      Pull(taker);
    }
  }

  const SimulatedPipeline& pipeline_;
  std::mt19937_64 random_;
  std::deque<Stage> stages_;
  Work consumer_work_;
  std::deque<Thread> threads_;
  int consumer_ = -1;
  Semaphore gil_;
  Semaphore disk_;
  Semaphore consumer_lock_;
  Timers timers_;     // by time
  Timers computing_;  // by the virtual time of the processors, which they share equally
  double now_ = 0;
  double virtual_ = 0;
  int64_t bytes_ = 0;
  double elsewhere_ = 0;  // processor seconds outside of calls
  double ready_ = 0;      // seconds of waiting for a processor
  bool tunes_ = false;
  Ran ran_;
};

}  // namespace

double Ran::Rate(double from, double to) const {
  double sum = 0;
  const auto first = static_cast<size_t>(std::lround(from * 10));
  const auto last = std::min(static_cast<size_t>(std::lround(to * 10)), outputs.size());
  for (size_t i = first; i < last; ++i) sum += outputs[i];
  return sum / (to - from);
}

Ran Simulate(const SimulatedPipeline& pipeline, std::vector<int> widths, double seconds,
             double change_at, uint64_t seed, const Controller& controller) {
  return Simulation(pipeline, std::move(widths), seed).Run(seconds, change_at, controller);
}

int Tuned::Moves(double from, double to) const {
  int moves = 0;
  double last = -1;  // the moves of one decision have the same time
  for (const TunerMove& move : log) {
    if (move.time < from || move.time >= to || move.time == last) continue;
    last = move.time;
    ++moves;
  }
  return moves;
}

Tuned SimulateTuned(const SimulatedPipeline& pipeline, double seconds, double change_at,
                    uint64_t seed) {
  std::vector<size_t> tuned_stages;  // the tuner's stages; a buffer tunes itself
  std::vector<int> widths(pipeline.stages.size(), kFirstBuffer);
  for (size_t s = 0; s < widths.size(); ++s) {
    if (!pipeline.stages[s].buffer) tuned_stages.push_back(s);
  }
  for (const size_t s : tuned_stages) {
    const int most = MostWidth(pipeline, pipeline.stages[s]);
    widths[s] = std::clamp(pipeline.processors, std::min(2, most), most);
    if (pipeline.cpu_budget == 0) continue;
    const int share = pipeline.cpu_budget / static_cast<int>(tuned_stages.size());
    widths[s] = std::clamp(share, 1, widths[s]);
  }
  Tuner tuner;
  std::vector<Counted> then(widths.size() + 1);
  double time = 0;
  const auto decide = [&](double now, const std::vector<Counted>& counted) {
    PipelineWindow window;
    window.seconds = now - std::exchange(time, now);
    window.processors = pipeline.processors;
    window.elsewhere = counted.back().cpu - then.back().cpu;
    window.ready = counted.back().ready - then.back().ready;
    window.budget = pipeline.cpu_budget;
    window.memory =
        pipeline.memory_limit == INT64_MAX ? 0 : static_cast<double>(pipeline.memory_limit);
    window.memory_used = counted.back().bytes;
    for (const size_t s : tuned_stages) {
      StageWindow& stage = window.stages.emplace_back();
      stage.width = widths[s];
      stage.most = MostWidth(pipeline, pipeline.stages[s]);
      const auto next = window.stages.size();
      stage.consumer =
          next < tuned_stages.size() && tuned_stages[next] == s + 1 ? static_cast<int>(next) : -1;
      stage.delivered = counted[s].delivered - then[s].delivered;
      stage.called = counted[s].called - then[s].called;
      stage.cpu = counted[s].cpu - then[s].cpu;
      stage.pulled = counted[s].pulled - then[s].pulled;
      stage.waited = counted[s].waited - then[s].waited;
      stage.bytes = counted[s].bytes - then[s].bytes;
    }
    then = counted;
    for (size_t s = 0; s < widths.size(); ++s) widths[s] = counted[s].width;
    const std::vector<int> decided = tuner.Decide(window);
    for (size_t i = 0; i < decided.size(); ++i) widths[tuned_stages[i]] = decided[i];
    return widths;
  };
  Tuned tuned;
  tuned.ran = Simulate(pipeline, widths, seconds, change_at, seed, decide);
  tuned.log = tuner.log();
  tuned.widths = widths;
  return tuned;
}

int MostWidth(const SimulatedPipeline& pipeline, const SimulatedStage& stage) {
  if (stage.buffer) return kMostBuffer;
  const int most = std::max(64, 2 * pipeline.processors);
  return pipeline.cpu_budget > 0 ? std::min(most, pipeline.cpu_budget) : most;
}

double BestRate(const SimulatedPipeline& pipeline, bool changed, uint64_t seed,
                std::vector<int>* best) {
  SimulatedPipeline fixed = pipeline;
  if (changed) {
    for (size_t s = 0; s < fixed.stages.size(); ++s) fixed.stages[s].work = pipeline.later[s];
    fixed.consumer = pipeline.later.back();
  }
  fixed.later.clear();
  const auto rate = [&](const std::vector<int>& widths) {
    return Simulate(fixed, widths, 8, kNever, seed, {}).Rate(2, 8);
  };
  const auto calls = [&](size_t s) { return fixed.stages[s].buffer ? 0 : 1; };
  int stages = 0;
  for (size_t s = 0; s < fixed.stages.size(); ++s) stages += calls(s);
  const auto fits = [&](const std::vector<int>& widths) {
    int sum = 0;
    for (size_t s = 0; s < widths.size(); ++s) sum += calls(s) * widths[s];
    return fixed.cpu_budget == 0 || sum <= std::max(fixed.cpu_budget, stages);
  };
  std::vector<int> widths;
  for (const SimulatedStage& stage : fixed.stages) {
    const int share =
        fixed.cpu_budget > 0 ? std::max(fixed.cpu_budget / stages, 1) : fixed.processors;
    widths.push_back(stage.buffer ? kFirstBuffer : std::min(MostWidth(fixed, stage), share));
  }
  double most = rate(widths);
  for (int round = 0; round < 2; ++round) {
    for (size_t s = 0; s < widths.size(); ++s) {
      for (const int width :
           {1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256, 512}) {
        if (width > MostWidth(fixed, fixed.stages[s])) break;
        std::vector<int> tried = widths;
        tried[s] = width;
        for (size_t o = 0; o < tried.size() && !fits(tried); ++o) {
          while (o != s && calls(o) && tried[o] > 1 && !fits(tried)) --tried[o];
        }
        if (!fits(tried)) break;
        const double reached = rate(tried);
        if (reached > most) {
          most = reached;
          widths = tried;
        }
      }
    }
  }
  if (best) *best = widths;
  return most;
}

Comparison Compare(const SimulatedPipeline& pipeline, uint64_t seed) {
  constexpr double kEnd = 70;
  constexpr double kChange = 30;
  const bool changes = !pipeline.later.empty();
  std::vector<int> best;
  const double rate = BestRate(pipeline, changes, seed, &best);
  const Tuned tuned = SimulateTuned(pipeline, kEnd, kChange, seed);
  Comparison report;
  report.share = tuned.ran.Rate(kEnd - 20, kEnd) / rate;
  report.moves = tuned.Moves(kEnd - 30, kEnd);
  // A stage that holds nothing takes one element, no matter how much the others hold.
  const int64_t beyond = static_cast<int64_t>(pipeline.stages.size()) - 1;
  report.within_memory = tuned.ran.most_bytes - beyond <= pipeline.memory_limit;
  for (double at = kChange; changes && at < kEnd - 1; at += 0.1) {
    report.adapted = at - kChange;
    if (tuned.ran.Rate(at, at + 1) >= 0.95 * rate) break;
  }
  const auto list = [](const std::vector<int>& widths) {
    std::string text;
    for (const int width : widths) text += (text.empty() ? "" : ", ") + std::to_string(width);
    return text;
  };
  char line[300];
  std::snprintf(line, sizeof line,
                "%-32s best %7.1f/s at %-10s tuned %5.1f %% at %-10s %d moves, %.1f s, %s",
                pipeline.name.c_str(), rate, list(best).c_str(), report.share * 100,
                list(tuned.widths).c_str(), report.moves, report.adapted,
                report.within_memory ? "within memory" : "OVER MEMORY");
  report.text = line;
  return report;
}

std::vector<SimulatedPipeline> SimulatedPipelines() {
  std::vector<SimulatedPipeline> all;
  const auto add = [&all](std::string name, int processors, std::vector<Work> stages,
                          Work consumer) -> SimulatedPipeline& {
    SimulatedPipeline& made = all.emplace_back();
    made.name = std::move(name);
    made.processors = processors;
    for (const Work& work : stages) made.stages.push_back({work});
    made.consumer = consumer;
    return made;
  };
  const auto steps = [](double seconds) { return Work{.sleep = seconds}; };
  for (const int processors : {2, 4, 8, 16, 64, 256}) {
    const std::string on = " on " + std::to_string(processors);
    const double quick = 0.02 / processors;  // a step for which some of the processors are enough
    add("computes" + on, processors, {{.cpu = 0.04, .pull = 1e-5, .jitter = 0.3}}, steps(1e-4));
    add("computes, slow consumer" + on, processors, {{.cpu = 0.02, .pull = 1e-5, .jitter = 0.3}},
        steps(2 * quick));
    add("sleeps" + on, processors, {{.cpu = 0.0005, .sleep = 0.05, .jitter = 0.5}}, steps(0.002));
  }
  for (const int processors : {2, 8, 64}) {
    const std::string on = " on " + std::to_string(processors);
    add("GIL" + on, processors, {{.gil = 0.005, .jitter = 0.3}}, steps(0.001));
    add("GIL for a third" + on, processors, {{.cpu = 0.004, .gil = 0.002, .jitter = 0.3}},
        steps(0.0005));
    add("two stages" + on, processors,
        {{.cpu = 0.0002, .sleep = 0.03, .jitter = 0.3}, {.cpu = 0.01, .jitter = 0.3}},
        steps(0.002));
  }
  add("disk of four", 8, {{.cpu = 0.001, .disk = 0.02, .jitter = 0.3}}, steps(0.001));
  add("lock", 8, {{.cpu = 0.002, .sleep = 0.01, .lock = 0.003, .jitter = 0.3}}, steps(0.001));
  add("slow input", 8, {{.cpu = 0.01, .pull = 0.004, .jitter = 0.3}}, steps(0.001));
  add("stragglers", 8, {{.cpu = 0.001, .sleep = 0.01, .jitter = 0.3, .straggler = 0.02}},
      steps(0.002));
  add("three stages", 16,
      {{.sleep = 0.02, .jitter = 0.3}, {.cpu = 0.02, .jitter = 0.3}, {.cpu = 0.004, .gil = 0.001}},
      steps(0.001));
  auto& budget = add("budget of six", 16,
                     {{.cpu = 0.001, .sleep = 0.01, .jitter = 0.3}, {.cpu = 0.02, .jitter = 0.3}},
                     steps(0.001));
  budget.cpu_budget = 6;
  for (const int64_t limit : {6, 12, 40}) {
    auto& memory = add("memory of " + std::to_string(limit), 8,
                       {{.cpu = 0.001, .sleep = 0.04, .jitter = 0.3}}, steps(0.001));
    memory.memory_limit = limit;
  }
  const auto drift = [&add](std::string name, int processors, std::vector<Work> stages,
                            Work consumer, std::vector<Work> later) {
    add("drift: " + std::move(name), processors, std::move(stages), consumer).later =
        std::move(later);
  };
  drift("calls become slow", 8, {{.cpu = 0.002, .sleep = 0.004, .jitter = 0.3}}, steps(0.002),
        {{.cpu = 0.002, .sleep = 0.04, .jitter = 0.3}, steps(0.002)});
  drift("calls become quick", 8, {{.cpu = 0.002, .sleep = 0.04, .jitter = 0.3}}, steps(0.002),
        {{.cpu = 0.002, .sleep = 0.004, .jitter = 0.3}, steps(0.002)});
  drift("consumer becomes quick", 16, {{.cpu = 0.01, .jitter = 0.3}}, steps(0.01),
        {{.cpu = 0.01, .jitter = 0.3}, steps(0.0005)});
  drift("the other stage", 16, {{.sleep = 0.04, .jitter = 0.3}, {.sleep = 0.005, .jitter = 0.3}},
        steps(0.002),
        {{.sleep = 0.005, .jitter = 0.3}, {.sleep = 0.04, .jitter = 0.3}, steps(0.002)});
  return all;
}

namespace {

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}

  bool Once(int in) { return std::uniform_int_distribution<>(1, in)(random_) == 1; }
  int Between(int least, int most) { return std::uniform_int_distribution<>(least, most)(random_); }
  double Share() { return std::uniform_real_distribution<>()(random_); }
  // Each order of magnitude is equally likely.
  double Between(double least, double most) { return least * std::pow(most / least, Share()); }

  Work OfStage(bool first) {
    Work work;
    const int kind = Between(0, 6);
    if (kind <= 1) work.cpu = Between(5e-4, 0.05);
    if (kind >= 2 && kind <= 4) work.sleep = Between(1e-3, 0.1);
    if (kind == 3) work.cpu = work.sleep * Between(0.01, 1.0);
    if (kind == 4) work.gil = std::min(work.sleep * Between(0.01, 1.0), 0.005);
    if (kind == 5) work.disk = Between(2e-3, 0.03);
    if (kind == 6) {
      work.lock = Between(2e-4, 4e-3);
      work.sleep = work.lock * Between(1.0, 20.0);
    }
    work.cpu = std::max(work.cpu, 2e-5);
    work.jitter = Share() * 0.6;
    if (Once(8)) work.straggler = 0.01;
    if (first) work.pull = Between(1e-6, 5e-4);
    return work;
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace

std::vector<SimulatedPipeline> DrawnPipelines(int count, uint64_t seed) {
  std::vector<SimulatedPipeline> all;
  Draw draw(seed);
  for (int i = 0; i < count; ++i) {
    SimulatedPipeline& made = all.emplace_back();
    made.processors = 1 << draw.Between(1, 7);
    const int stages = draw.Between(1, 3);
    for (int s = 0; s < stages; ++s) made.stages.push_back({draw.OfStage(s == 0)});
    if (draw.Once(2)) made.stages.push_back({{}, 1, true});
    (draw.Once(3) ? made.consumer.cpu : made.consumer.sleep) = draw.Between(3e-4, 8e-3);
    made.consumer.jitter = draw.Share() * 0.3;
    made.disk = 1 << draw.Between(0, 5);
    std::string what;
    if (draw.Once(5)) {
      made.cpu_budget = draw.Between(stages, 3 * made.processors);
      what += ", budget of " + std::to_string(made.cpu_budget);
    } else if (draw.Once(5)) {
      made.memory_limit = draw.Between(4, 60);
      what += ", memory of " + std::to_string(made.memory_limit);
    }
    if (draw.Once(4)) {
      what += ", drifts";
      for (int s = 0; s < stages; ++s) made.later.push_back(draw.OfStage(s == 0));
      if (made.stages.back().buffer) made.later.emplace_back();
      made.later.push_back(made.consumer);
    }
    made.name = "drawn " + std::to_string(i) + ": " + std::to_string(stages) +
                (made.stages.back().buffer ? " and a buffer on " : " on ") +
                std::to_string(made.processors) + what;
  }
  return all;
}

}  // namespace penstock::testing
