// The two threads of an observation: one samples, the other tries the foreign lock now and then.
#include "engine/observation.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "data/foreign.h"
#include "runtime/blocking.h"
#include "runtime/cancel.h"
#include "runtime/clock.h"
#include "runtime/cpu.h"
#include "runtime/event_count.h"
#include "runtime/pump.h"
#include "runtime/thread_state.h"
#include "runtime/wait.h"

namespace penstock {
namespace {

constexpr int64_t kShortestNs = 1'000'000;
constexpr int64_t kLongestNs = 50'000'000;
constexpr double kShare = 0.01;        // of one CPU, for sampling
constexpr int64_t kGlanceNs = 60'000;  // between the two looks that show whether a thread runs
constexpr int64_t kBetweenLockLooksNs = 20'000'000;
constexpr int64_t kHistoryNs = 50'000'000;
constexpr int64_t kBetweenCallLooksNs = 20'000'000;
constexpr size_t kMostSpans = 1 << 18;  // of all threads; above it, the oldest half is dropped

}  // namespace

class Observation::Impl final {
 public:
  Impl(std::shared_ptr<StatsSink> stats, bool asks)
      : stats_(std::move(stats)), watch_(cancel_, never_), start_ns_(NowNs()) {
    stats_->Observe();
    seen_.before = stats_->Snapshot();
    for (const StageSnapshot& each : seen_.before) {
      if (each.path == "0") elements_before_ = each.steps;
    }
    process_cpu_ns_ = ProcessCpuNs();
    try {
      sampler_.emplace(Lane::kNative, "penstock profile", [this] { Sample(); });
      if (asks) knocker_.emplace(Lane::kPython, "penstock profile", [this] { Knock(); });
    } catch (...) {  // no second thread: join the first
      cancel_.Cancel();
      throw;
    }
  }
  ~Impl() { cancel_.Cancel(); }

  Observed Stop() {
    cancel_.Cancel();
    knocker_.reset();
    sampler_.reset();
    seen_.after = stats_->Snapshot();
    seen_.before.resize(seen_.after.size());  // new stages had counted nothing before
    seen_.stages.resize(seen_.after.size());
    seen_.seconds = static_cast<double>(NowNs() - start_ns_) * 1e-9;
    seen_.process_cpu_ns = ProcessCpuNs() - process_cpu_ns_;
    for (const auto& [number, cpu] : ongoing_cpu_) seen_.ongoing_cpu_ns += cpu.last - cpu.first;
    seen_.lock_looks = looks_.load(std::memory_order_relaxed);
    seen_.lock_held = held_.load(std::memory_order_relaxed);
    for (auto& [number, thread] : threads_) {
      ApportionCpu(thread);
      if (!thread.shown.spans.empty()) seen_.threads.push_back(std::move(thread.shown));
    }
    std::sort(seen_.threads.begin(), seen_.threads.end(),
              [](const auto& a, const auto& b) { return a.number < b.number; });
    return std::move(seen_);
  }

 private:
  // Observations of one thread in one stage; -1: outside.
  struct Tally {
    std::array<int64_t, kDoings> wall_ns{};
    std::array<int64_t, kDoings> on_cpu_ns{};  // according to the looks
  };
  struct Thread {
    ThreadHistory shown;
    int64_t system_id = 0;
    int64_t first_cpu_ns = -1;
    int64_t last_cpu_ns = -1;
    int64_t first_ready_ns = 0;
    int64_t last_ready_ns = 0;
    std::unordered_map<int, Tally> tallies;
  };
  struct CpuRange {
    int64_t first;
    int64_t last;
  };
  struct Glance {
    Thread* thread;
    int stage;
    Doing doing;
    int64_t cpu_ns;
    MonoTime looked_at;
    uint32_t waits;
    bool on_cpu = false;
    double works = 1;  // fraction of the time between the two looks; see Count
    Doing waited_for = Doing::kRun;
  };

  bool SleepUntil(MonoTime when) {
    return WaitUntil(never_, cancel_, when, [] { return false; }) == WaitStatus::kTimeout;
  }

  // --- on the thread that tries the lock ---

  void Knock() {
    LeaveForeignLock();
    while (SleepUntil(NowNs() + kBetweenLockLooksNs)) {
      const bool held = TheForeignRuntime().TakeLock();
      LeaveForeignLock();
      looks_.fetch_add(1, std::memory_order_relaxed);
      held_.fetch_add(held, std::memory_order_relaxed);
    }
  }

  // --- on the sampling thread ---

  void Sample() {
    int64_t interval = kShortestNs;
    MonoTime last = NowNs();
    MonoTime next_history = last;
    MonoTime next_calls = last;
    uint64_t noise = 0x9E3779B97F4A7C15;
    while (SleepUntil(last + interval)) {
      const int64_t cpu_start = ThreadCpuNs();
      Look(glances_, false);
      if (!SleepUntil(NowNs() + kGlanceNs)) break;
      Look(glances_, true);
      const MonoTime now = NowNs();
      const bool looks_at_calls = now >= next_calls;
      if (looks_at_calls) next_calls = now + kBetweenCallLooksNs;
      for (const Glance& glance : glances_) Count(glance, last, now, looks_at_calls);
      if (now >= next_history) {
        next_history = now + kHistoryNs;
        others_.clear();  // their memory may belong to another stage by now
        KeepHistory(now);
      }
      last = now;
      const auto cost = static_cast<double>(ThreadCpuNs() - cpu_start);
      mean_cost_ += (cost - mean_cost_) / 16;
      interval = std::clamp(static_cast<int64_t>(mean_cost_ / kShare), kShortestNs, kLongestNs);
      seen_.interval_ns = interval;
      // Add some noise, so that periodic events are not always sampled in the same phase.
      noise = noise * 6364136223846793005 + 1442695040888963407;
      interval += static_cast<int64_t>(noise >> 33) % (interval / 2) - interval / 4;
    }
  }

  // Records the threads in stages of this run, and its consumer. `again`: only checks whether they
  // ran since the first look.
  void Look(std::vector<Glance>& glances, bool again) {
    if (!again) glances.clear();
    Activity::ForEach([&](Activity::Record& record) {
      if (again) {
        for (Glance& glance : glances) {
          if (glance.thread->shown.number != record.number) continue;
          const int64_t cpu = record.CpuNs();
          glance.on_cpu = cpu - glance.cpu_ns > kGlanceNs / 4;
          glance.thread->last_cpu_ns = cpu;
          if (record.waits.load(std::memory_order_relaxed) == glance.waits) continue;
          const auto passed = static_cast<double>(std::max<int64_t>(NowNs() - glance.looked_at, 1));
          glance.works = std::clamp(static_cast<double>(cpu - glance.cpu_ns) / passed, 0.0, 1.0);
          glance.waited_for = record.waited_for.load(std::memory_order_relaxed);
        }
        return;
      }
      if (record.runs_ongoing.load(std::memory_order_relaxed)) {
        const int64_t cpu = record.CpuNs();
        ongoing_cpu_.try_emplace(record.number, CpuRange{cpu, cpu}).first->second.last = cpu;
      }
      const StageStats* stage = record.stage.load(std::memory_order_relaxed);
      const bool consumer =
          record.consumes.load(std::memory_order_relaxed) == static_cast<void*>(stats_.get());
      const int index = stage ? IndexOf(stage) : -1;
      if (index < 0 && (stage || !consumer)) return;
      Thread& thread = threads_[record.number];
      const int64_t cpu = record.CpuNs();
      if (thread.first_cpu_ns < 0) {
        thread.shown.number = record.number;
        thread.shown.name = record.name.load(std::memory_order_relaxed);
        thread.system_id = record.system_id;
        thread.first_cpu_ns = cpu;
      }
      thread.shown.consumer |= consumer;
      glances.push_back({&thread, index, record.doing.load(std::memory_order_relaxed), cpu, NowNs(),
                         record.waits.load(std::memory_order_relaxed)});
    });
  }

  // The index of a stage of this run; -1 for other stages.
  int IndexOf(const StageStats* stage) {
    if (auto found = indices_.find(stage); found != indices_.end()) return found->second;
    if (others_.contains(stage)) return -1;
    for (const StageSnapshot& each : stats_->Snapshot()) {
      indices_.emplace(each.stats, static_cast<int>(indices_.size()));
      if (each.path == "0") root_ = each.stats;
    }
    stats_->Observe();
    if (auto found = indices_.find(stage); found != indices_.end()) return found->second;
    others_.insert(stage);
    return -1;
  }

  void Count(const Glance& glance, MonoTime last, MonoTime now, bool looks_at_call) {
    Thread& thread = *glance.thread;
    if (thread.last_ready_ns == 0 || looks_at_call) {
      thread.last_ready_ns = ReadyNs(thread.system_id);
      if (thread.first_ready_ns == 0) thread.first_ready_ns = thread.last_ready_ns;
    }
    Tally& tally = thread.tallies[glance.stage];
    const auto doing = static_cast<size_t>(glance.doing);
    const bool works = glance.doing == Doing::kRun || glance.doing == Doing::kPython;
    // A thread of the pipeline that waited for another thread between the looks did not sleep in
    // its work. Its time without a CPU belongs to that wait.
    const bool hands_over = works && glance.stage >= 0 && glance.works < 1;
    const auto worked = hands_over
                            ? static_cast<int64_t>(glance.works * static_cast<double>(now - last))
                            : now - last;
    tally.wall_ns[doing] += worked;
    if (glance.on_cpu) tally.on_cpu_ns[doing] += worked;
    tally.wall_ns[static_cast<size_t>(glance.waited_for)] += now - last - worked;
    if (looks_at_call && works && !glance.on_cpu && !hands_over) {
      StageTimes& times = TimesOf(glance.stage);
      ++(WaitsForThread(thread.system_id) ? times.locked : times.asleep);
    }
    const int64_t element = glance.stage < 0 ? -1 : ElementOf(glance.stage);
    auto& spans = thread.shown.spans;
    const int64_t start = last - start_ns_, end = now - start_ns_;
    if (!spans.empty()) {
      ThreadSpan& before = spans.back();
      if (before.stage == glance.stage && before.doing == glance.doing &&
          before.on_cpu == glance.on_cpu && before.element == element &&
          start - before.end_ns < kShortestNs) {
        before.end_ns = end;
        return;
      }
    }
    spans.push_back({start, end, glance.stage, glance.doing, glance.on_cpu, element});
    if (++span_count_ > kMostSpans) DropOldSpans();
  }

  const std::vector<const StageStats*>& ByIndex() {
    if (by_index_.size() < indices_.size()) {
      by_index_.resize(indices_.size());
      for (const auto& [stats, index] : indices_) by_index_[static_cast<size_t>(index)] = stats;
    }
    return by_index_;
  }

  int64_t ElementOf(int stage) {
    return ByIndex()[static_cast<size_t>(stage)]->steps.load(std::memory_order_relaxed);
  }

  StageTimes& TimesOf(int stage) {
    if (stage < 0) return seen_.step;
    const auto at = static_cast<size_t>(stage);
    if (seen_.stages.size() <= at) seen_.stages.resize(at + 1);
    return seen_.stages[at];
  }

  void DropOldSpans() {
    span_count_ = 0;
    for (auto& [number, thread] : threads_) {
      auto& spans = thread.shown.spans;
      spans.erase(spans.begin(), spans.begin() + static_cast<ptrdiff_t>(spans.size() / 2));
      span_count_ += spans.size();
    }
  }

  void KeepHistory(MonoTime now) {
    seen_.history_seconds.push_back(static_cast<double>(now - start_ns_) * 1e-9);
    std::vector<int32_t> buffers;
    for (const StageStats* each : ByIndex()) {
      buffers.push_back(each->buffer_size.load(std::memory_order_relaxed));
    }
    int64_t elements = 0;
    if (root_) elements = root_->steps.load(std::memory_order_relaxed) - elements_before_;
    seen_.history_elements.push_back(elements);
    seen_.history_buffers.push_back(std::move(buffers));
    int64_t all = 0, waiting = 0;
    for (auto& [number, thread] : threads_) {
      if (!thread.shown.consumer) continue;
      for (const auto& [stage, tally] : thread.tallies) {
        for (int64_t wall : tally.wall_ns) {
          all += wall;
          if (stage >= 0) waiting += wall;
        }
      }
    }
    const int64_t passed = all - former_all_;
    seen_.history_waiting.push_back(passed > 0 ? static_cast<double>(waiting - former_waiting_) /
                                                     static_cast<double>(passed)
                                               : 0);
    former_all_ = all;
    former_waiting_ = waiting;
  }

  // A thread's total CPU time is known exactly; the looks distribute it over stages. The same goes
  // for the time it was runnable without a CPU.
  void ApportionCpu(Thread& thread) {
    int64_t on_cpu = 0, idle = 0;
    for (const auto& [stage, tally] : thread.tallies) {
      for (int64_t ns : tally.on_cpu_ns) on_cpu += ns;
      for (Doing doing : {Doing::kRun, Doing::kPython}) idle += IdleNs(tally, doing);
    }
    const auto cpu =
        static_cast<double>(std::max<int64_t>(thread.last_cpu_ns - thread.first_cpu_ns, 0));
    const double scale = on_cpu > 0 ? cpu / static_cast<double>(on_cpu) : 0;
    const double ready =
        idle > 0 ? std::min(1.0, static_cast<double>(thread.last_ready_ns - thread.first_ready_ns) /
                                     static_cast<double>(idle))
                 : 0;
    for (const auto& [stage, tally] : thread.tallies) {
      StageTimes& times = TimesOf(stage);
      for (size_t doing = 0; doing < kDoings; ++doing) {
        times.wall_ns[doing] += tally.wall_ns[doing];
        times.cpu_ns[doing] +=
            std::min(static_cast<int64_t>(scale * static_cast<double>(tally.on_cpu_ns[doing])),
                     tally.wall_ns[doing]);
      }
      for (Doing doing : {Doing::kRun, Doing::kPython}) {
        times.ready_ns += static_cast<int64_t>(ready * static_cast<double>(IdleNs(tally, doing)));
      }
    }
  }

  static int64_t IdleNs(const Tally& tally, Doing doing) {
    const auto at = static_cast<size_t>(doing);
    return tally.wall_ns[at] - tally.on_cpu_ns[at];
  }

  const Activity::Observer observer_;
  const std::shared_ptr<StatsSink> stats_;
  CancelToken cancel_;
  EventCount never_;
  CancelToken::Watch watch_;
  const int64_t start_ns_;
  int64_t process_cpu_ns_ = 0;
  std::atomic<int64_t> looks_{0};  // counters; they publish nothing
  std::atomic<int64_t> held_{0};

  // Used by the sampling thread until it has ended.
  Observed seen_;
  std::map<uint64_t, Thread> threads_;
  std::map<uint64_t, CpuRange> ongoing_cpu_;  // by the number of the thread's record
  std::vector<Glance> glances_;
  std::unordered_map<const StageStats*, int> indices_;
  std::vector<const StageStats*> by_index_;
  std::unordered_set<const StageStats*> others_;  // stages of other runs
  const StageStats* root_ = nullptr;
  int64_t elements_before_ = 0;
  size_t span_count_ = 0;
  double mean_cost_ = 0;
  int64_t former_all_ = 0;
  int64_t former_waiting_ = 0;

  std::optional<Pump> sampler_;  // last: joined first
  std::optional<Pump> knocker_;
};

Observation::Observation(std::shared_ptr<StatsSink> stats, bool asks)
    : impl_(std::make_unique<Impl>(std::move(stats), asks)) {}

Observation::~Observation() = default;

Observed Observation::Stop() { return impl_->Stop(); }

}  // namespace penstock
