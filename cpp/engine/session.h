// One run of a pipeline: root iterator, cancellation, budget, statistics and the seeds of the run.
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
  bool counts_all = false;   // what stages hold for long counts against the limit, too
  bool counted = true;       // false: a look at the elements, which later runs do not notice
  bool debug = false;        // everything runs in the calling thread, functions as plain Python
  std::string name;          // of the dataset, for errors, statistics and the trace
  bool tunes = true;         // false: AUTOTUNE leaves everything where it starts
  int64_t cpu_budget = 0;    // concurrent calls of all stages under AUTOTUNE; 0: no limit
  int64_t first_calls = 0;   // where AUTOTUNE starts each stage; 0: by the number of threads
  int64_t least_calls = 1;   // AUTOTUNE does not go below it
  Executor executor = Executor::kThread;  // of functions whose stage does not say
  int64_t slow_ns = 0;                    // a call or a read that takes longer is noted; 0: none is
  int64_t stall_ns = 0;  // of a wait for an element, after which it is reported; 0: never
  RandomPlace place;     // RunContext::place in the outer pipeline, if this run is a part of one
};

// Why AUTOTUNE moved a knob.
struct TuningMove {
  double seconds;  // since the run began
  StageLabel stage;
  std::string knob;
  int64_t from;
  int64_t to;
  std::string reason;

  // A value of the knob as users know it: executors have names.
  std::string ValueText(int64_t value) const;
};

// What is logged at the next opportunity.
struct LogEntry {
  bool warning;
  std::string text;
};

class Session {
 public:
  // Marks the threads of a run while they work for it. A user's function that uses the very
  // iterator that called it would wait for itself; this mark finds that.
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
      session.served_.NotifyAll();  // the session lives: its stages join this thread
    }
    Serving(const Serving&) = delete;
    Serving& operator=(const Serving&) = delete;
    static Session* current() { return current_; }

   private:
    Session* former_;
    const ReadingFor reading_;
    static thread_local Session* current_;
  };

  // Cancelling `cancel`, if it is given, cancels this one.
  Session(DatasetPtr root, RunOptions options, RunIdentity identity,
          const CancelToken* cancel = nullptr);
  ~Session();

  // Makes the stages. Those that run ahead begin, unless SetState came before.
  void Warm();
  // Whether Warm is making stages. Threads that those have started meanwhile ask, too, for stages
  // that they open: these may begin at once or with their first step, so any answer will do.
  bool warming() const { return warming_.load(std::memory_order_relaxed); }
  // The next block of the root; rows are delivered one by one through Delivered.
  Block NextBlock(int64_t max_rows);
  // Passes over steps of the root that others make. Counts `steps` down. `sound`: none of them is
  // an error, see Iterator::PassSound.
  std::optional<Error> PassOver(int64_t& steps, bool sound);
  // The position after the last step of the root that was pulled.
  SavedPosition Position();
  // How many rows (or the error) of the last block have reached the user.
  void SetUndelivered(int64_t steps) { undelivered_ = steps; }
  // Steps of the root since the beginning, or since SetState. For the thread that pulls.
  int64_t position() const { return input_ ? input_->position() : 0; }
  // `account`: what else the pipeline's data depends on, besides its stages; it is kept with the
  // position.
  std::string GetState(std::string account);
  // Only before the first block.
  void SetState(std::string_view state);
  // Stops every thread of the run; waits for them. The session gives no more elements.
  void Close();
  void Cancel() { cancel_.Cancel(); }
  // Call after Cancel. Waits until no thread works for the run. Unlike the same wait in Close, a
  // signal can interrupt it. kInterrupted: a function still runs.
  WaitStatus AwaitThreads();

  // What the foreign runtime keeps for this run; set before anything is started.
  void set_foreign(std::shared_ptr<void> foreign) { foreign_ = std::move(foreign); }
  const std::shared_ptr<void>& foreign() const { return foreign_; }

  const Dataset& root() const { return *root_; }
  const RunOptions& options() const { return options_; }
  int threads() const { return threads_; }
  Budget& budget() { return budget_; }
  const Budget& budget() const { return budget_; }
  // What HeldBytes counts: relaxed, for it stands alone.
  void AddHeld(int64_t bytes) { held_.fetch_add(bytes, std::memory_order_relaxed); }
  int64_t held() const { return held_.load(std::memory_order_relaxed); }
  // Takes some of the concurrent calls that AUTOTUNE may use: `wanted` if that many are left,
  // `least` otherwise.
  int64_t TakeCalls(int64_t least, int64_t wanted);
  // At first, no more than an equal share for each of the stages that use them.
  int64_t TakeFirstCalls(int64_t wanted);
  // Announces stages that will take calls, before the stages upstream are made.
  void ShareCalls(int stages) { sharing_.fetch_add(stages, std::memory_order_relaxed); }
  void GiveCalls(int64_t count) { calls_left_.fetch_add(count, std::memory_order_relaxed); }
  RunTuner& tuner() { return tuner_; }
  RunFills& fills() { return fills_; }
  StatsSink& stats() { return *stats_; }
  const StatsSink& stats() const { return *stats_; }
  // For those who look at the numbers of a run that has ended.
  const std::shared_ptr<StatsSink>& shared_stats() const { return stats_; }
  // Whether some stage may deliver out of order. A state is then taken with every element, because
  // steps that are pulled again would be others.
  bool unordered() const { return unordered_; }
  // Shows the user a text at the next opportunity; each text once. From any thread.
  void Warn(std::string text);
  // Makes get_state raise a StateError with this text, because a stage cannot save its position.
  // The first text counts. Called by any thread.
  void RefuseStates(std::string why);
  bool has_warnings() const { return has_warnings_.load(std::memory_order_relaxed); }
  std::vector<std::string> TakeWarnings();
  // The system gave a stage no thread (or not all of them), and it goes on with those that it has:
  // the run warns once, unless it only looks at a spec. From any thread.
  void NoteRefusal(const StageLabel& stage, const std::system_error& reason);
  bool short_of_threads() const { return short_of_threads_.load(std::memory_order_relaxed); }
  void LogMove(TuningMove move);
  SlowLog& slow() { return slow_; }
  bool has_log() const { return has_moves_.load(std::memory_order_relaxed) || slow_.has_texts(); }
  // Moves and slow calls since the last time; `end`: the run gives no more elements.
  std::vector<LogEntry> TakeLog(bool end);
  std::vector<TuningMove> moves() const;
  // Stages that are started on the consumer's thread take `bytes` of its stack.
  void NoteStack(int64_t bytes);
  // The same for `stages` stages that should have had a thread of their own and now run in the
  // calling one. Throws Error(kRecursion) if its stack is too short for them.
  void RequireStackHere(int stages);
  // Set by the first stage that starts a thread: without threads, closing waits for none.
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
  std::shared_ptr<const CacheFills> fills_at_start_;  // null until the run or a state is begun
  std::optional<ElasticPlan> plan_;                   // once it was asked for
  int64_t delivered_ = 0;                             // before the state was saved
  bool unordered_ = false;
  std::unique_ptr<Input> input_;
  int64_t undelivered_ = 0;
  bool started_ = false;
  std::atomic<bool> warming_{false};
  const int depth_;  // number of enclosing runs, each of whose functions started the next run
  std::atomic<int64_t> calls_left_;  // a count: it publishes nothing
  std::atomic<int> sharing_{0};      // likewise
  int64_t start_ns_;
  SlowLog slow_;
  std::atomic<bool> has_threads_{false};
  std::atomic<int> serving_{0};     // threads currently working for the run
  EventCount served_;               // a thread has finished
  int64_t stack_left_ = 0;          // of the consumer's thread, where it came in
  int64_t stack_need_ = 0;          // from there, of all that was started
  mutable std::mutex moves_mutex_;  // a leaf lock over the logs
  std::vector<TuningMove> moves_;
  std::vector<std::string> warnings_;
  std::string refused_;  // why states cannot be saved; empty: they can
  size_t warned_ = 0;    // of these, shown
  std::atomic<bool> has_warnings_{false};
  size_t logged_ = 0;                          // of the moves
  std::atomic<bool> has_moves_{false};         // to be logged; a hint
  std::atomic<bool> short_of_threads_{false};  // it publishes nothing
};

}  // namespace penstock
