// One run of a pipeline: root iterator, cancellation, budget, statistics and seeds.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <vector>

#include "engine/cache_fills.h"
#include "engine/dataset.h"
#include "engine/elastic.h"
#include "engine/input.h"
#include "engine/tuning.h"
#include "runtime/budget.h"
#include "runtime/cancel.h"
#include "runtime/event_count.h"
#include "runtime/slow_log.h"
#include "runtime/stats.h"
#include "runtime/wait.h"
#include "storage/file.h"

namespace penstock {

struct RunOptions {
  bool deterministic = true;
  int64_t threads = 0;       // native worker threads; 0: the number of CPUs
  int64_t memory_limit = 0;  // bytes of buffered elements; 0: a quarter of the memory available
  bool counts_all = false;   // memory held by stages for long also counts against the limit
  bool counted = true;       // false: a look at the elements that does not affect later runs
  bool debug = false;        // everything runs in the calling thread, and functions as plain Python
  std::string name;          // of the dataset, for errors, statistics and the trace
  bool tunes = true;         // false: AUTOTUNE keeps all initial values
  int64_t cpu_budget = 0;    // concurrent calls of all stages under AUTOTUNE; 0: no limit
  int64_t first_calls = 0;  // initial calls per stage under AUTOTUNE; 0: from the number of threads
  int64_t least_calls = 1;  // AUTOTUNE's minimum per stage
  Executor executor = Executor::kThread;  // for functions whose stage does not set one
  int64_t slow_ns = 0;                    // calls and reads that take longer are logged; 0: none
  int64_t stall_ns = 0;  // a wait for an element that takes longer is reported; 0: never
  RandomPlace place;     // RunContext::place in the outer pipeline, if this run is part of one
};

// A change of a knob by AUTOTUNE, with its reason.
struct TuningMove {
  double seconds;  // since the run began
  StageLabel stage;
  std::string knob;
  int64_t from;
  int64_t to;
  std::string reason;

  // The value as users know it: executors have names.
  std::string ValueText(int64_t value) const;
};

// A message for the log, shown at the next opportunity.
struct LogEntry {
  bool warning;
  std::string text;
};

class Session {
 public:
  // Marks threads while they work for a run. A user's function that pulled the iterator that called
  // it would wait for itself; the mark detects this.
  class Serving {
   public:
    explicit Serving(Session& session)
        : former_(current_), reading_({.cancel = &session.cancel_, .budget = &session.budget_}) {
      current_ = &session;
      session.serving_.fetch_add(1, std::memory_order_relaxed);
    }
    ~Serving() {
      Session& session = *current_;
      current_ = former_;
      session.serving_.fetch_sub(1, std::memory_order_release);  // pairs with AwaitThreads
      session.served_.NotifyAll();  // the session is still alive: its stages join this thread
    }
    Serving(const Serving&) = delete;
    Serving& operator=(const Serving&) = delete;
    static Session* current() { return current_; }

   private:
    Session* former_;
    const ReadingFor reading_;
    static thread_local Session* current_;
  };

  // Cancelling `cancel`, if not null, cancels this session.
  Session(DatasetPtr root, RunOptions options, RunIdentity identity,
          const CancelToken* cancel = nullptr);
  ~Session();

  // Creates the stages. Those that run ahead start, unless SetState was called before.
  void Warm();
  // Whether Warm is creating stages. Threads started by those stages may also ask, for stages that
  // they open. These may start immediately or with their first step, so any answer is correct.
  bool warming() const { return warming_.load(std::memory_order_relaxed); }
  // Returns the next block of the root. The caller delivers its rows individually, see
  // SetUndelivered.
  Block NextBlock(int64_t max_rows);
  // Skips steps of the root that others produce. Decrements `steps`. `sound`: none of them is an
  // error, see Iterator::PassSound.
  std::optional<Error> PassOver(int64_t& steps, bool sound);
  // The position after the last step pulled from the root.
  SavedPosition Position();
  // Sets how many steps of the last block have not reached the user.
  void SetUndelivered(int64_t steps) { undelivered_ = steps; }
  // Steps of the root since the beginning or SetState. Call on the pulling thread.
  int64_t position() const { return input_ ? input_->position() : 0; }
  // `account`: what the pipeline's data depends on besides its stages; stored with the position.
  std::string GetState(std::string account);
  // Only before the first block.
  void SetState(std::string_view state);
  // Stops and joins every thread of the run. The session delivers no more elements.
  void Close();
  void Cancel() { cancel_.Cancel(); }
  // Call after Cancel. Waits until no thread works for the run. Unlike the wait in Close, a signal
  // can interrupt it. kInterrupted: a function is still running.
  WaitStatus AwaitThreads();

  // The foreign runtime's data for this run; set before any stage starts.
  void set_foreign(std::shared_ptr<void> foreign) { foreign_ = std::move(foreign); }
  const std::shared_ptr<void>& foreign() const { return foreign_; }

  const Dataset& root() const { return *root_; }
  const RunOptions& options() const { return options_; }
  int threads() const { return threads_; }
  Budget& budget() { return budget_; }
  const Budget& budget() const { return budget_; }
  // The sum of all HeldBytes. relaxed: an independent counter.
  void AddHeld(int64_t bytes) { held_.fetch_add(bytes, std::memory_order_relaxed); }
  int64_t held() const { return held_.load(std::memory_order_relaxed); }
  // Takes concurrent calls from AUTOTUNE's budget: `wanted`, or what is left of it, but at least
  // `least`.
  int64_t TakeCalls(int64_t least, int64_t wanted);
  // The same for a stage's initial calls: at most an equal share for each stage that takes calls.
  int64_t TakeFirstCalls(int64_t wanted);
  // Announces stages that will take calls, before the stages upstream are created.
  void ShareCalls(int stages) { sharing_.fetch_add(stages, std::memory_order_relaxed); }
  void GiveCalls(int64_t count) { calls_left_.fetch_add(count, std::memory_order_relaxed); }
  RunTuner& tuner() { return tuner_; }
  RunFills& fills() { return fills_; }
  StatsSink& stats() { return *stats_; }
  const StatsSink& stats() const { return *stats_; }
  // For readers of the counters after the run has ended.
  const std::shared_ptr<StatsSink>& shared_stats() const { return stats_; }
  // Whether some stage may deliver out of order. Then a state is taken with every element, because
  // steps pulled again would be different ones.
  bool unordered() const { return unordered_; }
  // Shows a warning to the user at the next opportunity, each text once. Thread-safe.
  void Warn(std::string text);
  // Makes get_state raise a StateError with this text, because a stage cannot save its position.
  // Only the first text is kept. Thread-safe.
  void RefuseStates(std::string why);
  bool has_warnings() const { return has_warnings_.load(std::memory_order_relaxed); }
  std::vector<std::string> TakeWarnings();
  // The system refused a stage some or all of its threads, and the stage continues without them.
  // The run warns once, unless it only inspects a spec. Thread-safe.
  void NoteRefusal(const StageLabel& stage, const std::system_error& reason);
  bool short_of_threads() const { return short_of_threads_.load(std::memory_order_relaxed); }
  void LogMove(TuningMove move);
  SlowLog& slow() { return slow_; }
  bool has_log() const { return has_moves_.load(std::memory_order_relaxed) || slow_.has_texts(); }
  // Tuning moves and slow calls since the last call; `end`: no more elements follow.
  std::vector<LogEntry> TakeLog(bool end);
  std::vector<TuningMove> moves() const;
  // Stages started on the consumer's thread use `bytes` of its stack.
  void NoteStack(int64_t bytes);
  // The same for `stages` stages that now run in the calling thread instead of a separate one.
  // Throws Error(kRecursion) if its stack is too small.
  void RequireStackHere(int stages);
  // Called by the first stage that starts a thread. Without threads, closing need not wait.
  void NoteThreads() { has_threads_.store(true, std::memory_order_relaxed); }
  bool has_threads() const { return has_threads_.load(std::memory_order_relaxed); }

 private:
  void MindStack();
  void MakeRoot();
  void DropRoot();
  const ElasticPlan& Plan();
  SharedPosition Shared(const std::string& position);
  std::string Carried(StateVisitor& saved, const std::string& plan, int64_t more);

  DatasetPtr root_;
  std::shared_ptr<void> foreign_;
  RunOptions options_;
  int threads_;
  CancelToken cancel_;
  Budget budget_;
  std::atomic<int64_t> held_{0};  // bytes of the budget
  const std::shared_ptr<StatsSink> stats_ = std::make_shared<StatsSink>();
  RunTuner tuner_;
  RunIdentity identity_;
  RunFills fills_;
  std::shared_ptr<const CacheFills> fills_at_start_;  // null until a run or a restored state starts
  std::optional<ElasticPlan> plan_;                   // created on first use
  int64_t delivered_ = 0;                             // before the state was saved
  bool unordered_ = false;
  std::unique_ptr<Input> input_;
  int64_t undelivered_ = 0;
  bool started_ = false;
  std::atomic<bool> warming_{false};
  const int depth_;  // number of enclosing runs, each of whose functions started the next run
  std::atomic<int64_t> calls_left_;  // a counter; publishes nothing
  std::atomic<int> sharing_{0};      // likewise
  int64_t start_ns_;
  SlowLog slow_;
  std::atomic<bool> has_threads_{false};
  std::atomic<int> serving_{0};     // number of threads working for the run
  EventCount served_;               // a thread has finished
  int64_t stack_left_ = 0;          // stack left in the consumer's thread when it entered
  int64_t stack_need_ = 0;          // stack needed from there by everything that was started
  mutable std::mutex moves_mutex_;  // a leaf lock; protects the logs
  std::vector<TuningMove> moves_;
  std::vector<std::string> warnings_;
  std::string refused_;  // why states cannot be saved; empty if they can
  size_t warned_ = 0;    // number of warnings shown
  std::atomic<bool> has_warnings_{false};
  size_t logged_ = 0;                          // number of moves logged
  std::atomic<bool> has_moves_{false};         // there are moves to log; a hint
  std::atomic<bool> short_of_threads_{false};  // publishes nothing
};

}  // namespace penstock
