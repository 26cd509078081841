// Measures how long calls hold the foreign lock, and chooses threads or processes.
#include "engine/auto_function.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "data/foreign.h"
#include "engine/session.h"
#include "runtime/blocking.h"
#include "runtime/clock.h"
#include "runtime/cpu.h"
#include "runtime/pump.h"
#include "runtime/wait.h"
#include "workers/process_function.h"

namespace penstock {
namespace {

constexpr int64_t kMeasureNs = 250'000'000;
constexpr int64_t kBetweenKnocksNs = 5'000'000;
constexpr int64_t kFewestRows = 4;  // long calls are measured for longer
// Below this fraction of the time, threads lose little to each other.
constexpr double kMuch = 0.6;
// The cost of sending a row to another process and receiving the result, in ns: fixed, and per
// byte.
constexpr double kHandOverNs = 2000;
constexpr double kHandOverNsPerByte = 0.2;
// The speedup required: the new time must be below this fraction of the old one.
constexpr double kGain = 0.9;

enum Choice : int64_t { kThreads, kProcesses };  // values in the session's tuning moves

// Threads call the function, and their CPU time is measured. Meanwhile another thread tries the
// foreign lock now and then; the fraction of tries that find it held estimates how long it is held.
// Only the part that these calls can account for counts: their CPU time as a fraction of the
// elapsed time or, if other processes keep the machine busy, of this process's CPU time.
class AutoFunction final : public Function {
 public:
  AutoFunction(const RunContext& context, const PlannedFunction& planned, const Dataset& data,
               int64_t calls)
      : session_(*context.session),
        path_(context.path),
        here_(planned.usual),
        gone_over_(planned.gone_over),
        name_(data.name()),
        stage_{data.kind(), data.label().name, data.label().function},
        calls_(calls),
        cancel_(context.cancel.Child()),
        begun_watch_(cancel_, begun_) {
    if (gone_over_->load(std::memory_order_relaxed)) {
      GoOver("the run before has found that worker processes are faster");
    } else {
      watcher_.emplace(Lane::kPython, "penstock executor", [this] { Watch(); });
    }
  }
  ~AutoFunction() override { cancel_.Cancel(); }

  void Map(Block&& rows, const CallInfo& info, std::vector<Block>& out) override {
    Call(std::move(rows), out,
         [&](Function& function, Block&& given) { function.Map(std::move(given), info, out); });
  }
  void TestRows(Block&& rows, const CallInfo& info, std::vector<Block>& out) override {
    Call(std::move(rows), out, [&](Function& function, Block&& given) {
      function.TestRows(std::move(given), info, out);
    });
  }
  bool needs_lock() const override { return true; }
  bool may_have_workers() const override { return true; }
  Tensor::Memory slab_memory() const override { return &AllocateForWorkers; }

 private:
  template <typename Do>
  void Call(Block&& rows, const std::vector<Block>& out, Do call) {
    // acquire: pairs with the release in GoOver.
    if (elsewhere_.load(std::memory_order_acquire)) return call(*in_processes_, std::move(rows));
    const Counted counted(*this, rows, out);
    call(*here_, std::move(rows));
  }

  // Measures the calls for some rows.
  class Counted {
   public:
    Counted(AutoFunction& owner, const Block& rows, const std::vector<Block>& out)
        : owner_(owner),
          out_(out),
          rows_(rows.rows),
          bytes_(rows.footprint()),
          start_ns_(ThreadCpuNs()) {
      owner_.running_.fetch_add(1, std::memory_order_relaxed);
      if (!owner_.has_begun_.exchange(true, std::memory_order_relaxed)) owner_.begun_.NotifyAll();
    }
    ~Counted() {
      size_t bytes = bytes_;
      for (const Block& block : out_) bytes += block.footprint();
      owner_.bytes_.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
      owner_.cpu_ns_.fetch_add(ThreadCpuNs() - start_ns_, std::memory_order_relaxed);
      owner_.rows_.fetch_add(rows_, std::memory_order_relaxed);
      owner_.running_.fetch_sub(1, std::memory_order_relaxed);
    }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;

   private:
    AutoFunction& owner_;
    const std::vector<Block>& out_;
    const int64_t rows_;
    const size_t bytes_;
    const int64_t start_ns_;
  };

  // --- on the measuring thread ---

  void Watch() {
    LeaveForeignLock();
    auto has_begun = [this] { return has_begun_.load(std::memory_order_relaxed); };
    if (WaitUntil(begun_, cancel_, has_begun) != WaitStatus::kReady) return;
    const int64_t start = NowNs(), cpu_start = ProcessCpuNs();
    int64_t looks = 0, held = 0;
    while (NowNs() - start < kMeasureNs || rows_.load(std::memory_order_relaxed) < kFewestRows) {
      const MonoTime next = NowNs() + kBetweenKnocksNs;
      if (WaitUntil(begun_, cancel_, next, [] { return false; }) != WaitStatus::kTimeout) return;
      ++looks;
      if (running_.load(std::memory_order_relaxed) == 0) continue;
      held += TheForeignRuntime().TakeLock();
      LeaveForeignLock();
    }
    const auto all_ns =
        static_cast<double>(std::clamp<int64_t>(ProcessCpuNs() - cpu_start, 1, NowNs() - start));
    const double used = static_cast<double>(cpu_ns_.load(std::memory_order_relaxed)) / all_ns;
    Decide(std::min(used, static_cast<double>(held) / static_cast<double>(looks)));
  }

  void Decide(double share) {
    const auto rows = static_cast<double>(rows_.load(std::memory_order_relaxed));
    const double row_ns = static_cast<double>(cpu_ns_.load(std::memory_order_relaxed)) / rows;
    const double row_bytes = static_cast<double>(bytes_.load(std::memory_order_relaxed)) / rows;
    const int processors = CpuCount();
    const double together = static_cast<double>(
        calls_ == kAutotune ? processors : std::min<int64_t>(calls_, processors));
    const double hand_over_ns = kHandOverNs + kHandOverNsPerByte * row_bytes;
    const int64_t percent = std::lround(100 * share);
    const std::string held = Format("its calls held the GIL {} % of the time", percent);
    if (share < kMuch) return Stay(held);
    if ((row_ns + hand_over_ns) / together > kGain * row_ns) {
      return Stay(Format("a call takes {} us, and to hand it to one of {} processes about {} us",
                         row_ns / 1000, together, hand_over_ns / 1000));
    }
    GoOver(held);
  }

  // --- on that thread, or in the constructor ---

  void GoOver(const std::string& reason) {
    try {
      in_processes_ = here_->InProcesses(name_);
    } catch (const Error& error) {
      return Stay(error.message());
    }
    session_.stats().SetWorkers(path_, [called = in_processes_] { return called->Workers(); });
    gone_over_->store(true, std::memory_order_relaxed);
    elsewhere_.store(true, std::memory_order_release);
    session_.LogMove({0, stage_, "executor", kThreads, kProcesses, reason});
  }
  void Stay(const std::string& reason) {
    session_.LogMove({0, stage_, "executor", kThreads, kThreads, reason});
  }

  Session& session_;
  const std::string path_;
  const FunctionPtr here_;
  const std::shared_ptr<std::atomic<bool>> gone_over_;
  const std::string name_;
  const StageLabel stage_;
  const int64_t calls_;

  // Counters; they publish nothing.
  std::atomic<int64_t> running_{0};
  std::atomic<int64_t> rows_{0};
  std::atomic<int64_t> cpu_ns_{0};
  std::atomic<int64_t> bytes_{0};
  std::atomic<bool> has_begun_{false};

  FunctionPtr in_processes_;  // written before elsewhere_
  std::atomic<bool> elsewhere_{false};

  CancelToken cancel_;
  EventCount begun_;
  CancelToken::Watch begun_watch_;
  std::optional<Pump> watcher_;  // last: joined first
};

}  // namespace

FunctionPtr MakeAutoFunction(const RunContext& context, const PlannedFunction& planned,
                             const Dataset& data, int64_t calls) {
  Session& session = *context.session;
  auto stay = [&](const std::string& reason) {
    const StageLabel& label = data.label();
    session.LogMove(
        {0, {data.kind(), label.name, label.function}, "executor", kThreads, kThreads, reason});
    return planned.usual;
  };
  if (calls == 1) return stay("it makes one call at a time; give it num_parallel_calls");
  if (!session.options().tunes) return stay("Options.autotune.enabled is False");
  try {
    AllocateForWorkers(1);
  } catch (const Error& error) {
    return stay(error.message());
  }
  try {
    session.NoteThreads();
    return std::make_shared<AutoFunction>(context, planned, data, calls);
  } catch (const std::system_error& refusal) {
    session.NoteRefusal(data.label(), refusal);
    return stay("no thread could be had to measure it");
  }
}

}  // namespace penstock
