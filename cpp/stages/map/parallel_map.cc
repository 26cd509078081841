// map with parallel calls: workers share the input, and a slot ring collects their results.
#include "stages/map/parallel_map.h"

#include <algorithm>
#include <optional>
#include <system_error>
#include <vector>

#include "compute/retries.h"
#include "data/block_size.h"
#include "data/pending.h"
#include "engine/out_of_memory.h"
#include "engine/producer.h"
#include "engine/random_access.h"
#include "engine/registry.h"
#include "engine/stack_need.h"
#include "engine/tuning.h"
#include "runtime/activity.h"
#include "runtime/clock.h"
#include "runtime/cpu.h"
#include "runtime/crew.h"
#include "runtime/hand_over.h"
#include "runtime/slot_ring.h"
#include "runtime/timed_steps.h"
#include "stages/map/call_turns.h"
#include "stages/map/carried_map.h"
#include "stages/map/map_in_line.h"
#include "stages/map/ongoing_map.h"
#include "stages/map/progress.h"
#include "stages/map/shared_input.h"

namespace penstock {
namespace {

class ParallelMapDataset final : public Dataset, public RandomAccess, public Elastic {
 public:
  ParallelMapDataset(PlannedFunction function, MaybeSpec declared, int64_t calls,
                     std::optional<bool> ordered, DatasetPtr in_line)
      : function_(std::move(function)),
        declared_(std::move(declared)),
        calls_(calls),
        ordered_(ordered),
        in_line_(std::move(in_line)) {}
  int64_t cardinality() const override { return input().cardinality(); }
  MaybeSpec spec() const override { return declared_ ? declared_ : probed_spec(); }
  bool asynchronous() const override { return true; }
  bool apart() const override { return true; }
  bool reorders(bool deterministic) const override { return !ordered_.value_or(deterministic); }
  Step At(int64_t index, const RunContext& context) const override {
    return MapAt(*this, function_, index, context);
  }
  Block Gather(const Positions& positions, const RunContext& context) const override {
    return MapAt(*this, function_, positions, context);
  }
  Positions InputPositions(const Positions& positions, size_t, const RunContext&) const override {
    return positions;
  }
  void CarryState(StateVisitor* saved, int64_t& steps, std::string& out,
                  Carrying& carrying) const override {
    CarryMapState(*this, saved, steps, out, carrying);
  }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  PlannedFunction function_;
  MaybeSpec declared_;
  int64_t calls_;  // kAutotune: adjusted at run time
  std::optional<bool> ordered_;
  DatasetPtr in_line_;  // sequential fallback used in debug mode
};

// Each worker takes a turn with the input: it acquires the input, pulls a block, numbers it, and
// releases the input. Then it calls the function and publishes the result under that number.
// Workers are separate threads, so a worker that waits for the input (or for room) blocks no other
// thread. If the input is slow, there is one worker more than calls, so that the input is read
// while all calls run. If the system refuses threads, the existing workers do the work; without
// any, the consumer does.
//
// A fixed number of calls is a maximum. The map starts with one worker, and doubles the number each
// time the consumer has waited for kStarvedNs in total while all workers were inside calls. So
// functions that wait soon run at the full number, and iterators whose functions are faster than
// their consumers keep one thread each. AUTOTUNE needs its exact number, and warm_start starts all
// workers.
//
// If no Python runs, the consumer also does the work while HandOver finds that threads do not pay.
// To transfer the input to the consumer, the consumer sets `leave_` and keeps taking from the ring;
// each worker publishes what it has pulled, sees `leave_` before its next pull, and returns; once
// the consumer finds the crew idle and then the ring empty, it joins the crew and pulls from then
// on. To transfer it back, between two pulls and with no results waiting, the consumer clears
// `leave_` and starts a new crew. So joins and thread starts order all accesses of the two sides to
// the input.
class ParallelMapIterator final : public BlockIterator {
 public:
  ParallelMapIterator(const Dataset& data, const RunContext& context, CancelToken cancel,
                      ParallelCalls calls)
      : session_(*context.session),
        stage_(data.label()),
        function_(std::move(calls.function)),
        random_(data.Randomness(context)),
        source_(data.input()),
        lane_(data.lane()),
        ragged_(context.ragged),
        ordered_(calls.ordered),
        flagged_(calls.flagged),
        most_(MostCalls(session_, calls.calls, *function_)),
        in_turns_(!function_->needs_lock() && !source_.calls_inline()),
        batch_rows_(ordered_ ? context.batch_rows : 0),
        cancel_(std::move(cancel)),
        share_(session_, calls.calls == kAutotune),
        input_(data.StartInput(context.OnThread(cancel_).Replayed()), in_turns_),
        stats_(data.Stats(context)),
        ring_(static_cast<size_t>(std::max<int64_t>(2 * most_, 4))),
        room_watch_(cancel_, room_),
        width_watch_(cancel_, width_),
        budget_watch_(session_.budget(), room_),
        ready_watch_(cancel_, ready_),
        turns_(cancel_),
        tuned_(session_, context.path, {data.kind(), stage_.name, stage_.function},
               std::max(2, session_.threads()), most_, calls.calls != kAutotune),
        begun_workers_(calls.calls == kAutotune || session_.warming() ? most_ : 1),
        workers_(
            lane_, stage_.kind.c_str(),
            [this](int number, Parking& parking) { Work(number, parking); },
            [this] { DropInput(); }) {
    threads_add_busy_ = true;
    MakeSlabs();
    ShowWidth();
    if (session_.warming()) StartWorkers();
  }

  ~ParallelMapIterator() override {
    cancel_.Cancel();
    workers_.Join();
  }

  void VisitState(StateVisitor& visitor) override {
    progress_.VisitState(visitor, input_, flagged_);
  }

  std::optional<Error> Discard(int64_t& steps) override {
    // We cannot tell which rows pass until the predicate has run.
    if (begun_ || flagged_) return Iterator::Discard(steps);
    progress_.Discard(steps);
    return std::nullopt;
  }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    if (!flagged_) return NextResults(max_rows);
    return RowsThatStay([&] { return NextResults(max_rows); });
  }

 private:
  using Packet = MapPacket;
  // Reading a thread's CPU time is a system call, so it is sampled for fast functions.
  using CpuTiming = TimedSteps<2'000'000, 8>;
  static constexpr int64_t kStarvedNs = 1'000'000;
  static constexpr int64_t kLongestLookNs = 64'000'000;

  Block NextResults(int64_t max_rows) {
    if (borrowed_ && in_line_->idle() && (hand_over_.pays() || !StackCarriesInput())) ReturnInput();
    if (!in_line_ && !Leaves()) StartWorkers();
    if (in_turns_ && pending_.empty() && !in_line_) hand_over_.Asked(NowNs());
    while (pending_.empty()) {
      if (halted_) return Block::Of(OutOfMemory(stage_.kind));
      if (ended_at_ >= 0 && taken_ > ended_at_) return Block::AtEnd();
      Packet packet;
      WaitStatus status = Pop(packet);
      if (status == WaitStatus::kTimeout) return NextInLine(max_rows);
      if (status == WaitStatus::kInterrupted) return Block::Of(Error(ErrorKind::kInterrupted, ""));
      if (status != WaitStatus::kReady) return Block::Of(Error(ErrorKind::kCancelled, ""));
      ++taken_;
      room_.NotifyOne();
      if (packet.halted) {
        halted_ = true;
        cancel_.Cancel();  // results of the other workers would follow it
        continue;
      }
      if (!Leaves()) Recall(false);
      if (packet.end) ended_at_ = packet.number;
      progress_.Take(packet.position, std::move(packet.state));
      charge_ = std::move(packet.charge);
      pending_.Add(std::move(packet.results));
      if (in_turns_) Weigh(packet.rows, NowNs());
    }
    Block block = pending_.Take(max_rows);
    Deliver(block.rows + block.error.has_value());
    Tune();
    return block;
  }

  Block NextInLine(int64_t max_rows) {
    const bool pulls = in_line_->idle();
    const bool timed = pulls && timing_.Due();
    const MonoTime start = timed ? NowNs() : 0;
    Block block = in_line_->Next(max_rows, Info(0), start);
    tuned_.Delivered(block.steps());
    if (!timed) {
      if (pulls) hand_over_.TookUntimed(in_line_->pulled());
      return block;
    }
    const MonoTime now = in_line_->ended_at();
    timing_.Took(now - start);
    const int64_t ns = (now - start) * timing_.stands_for();
    tuned_.Called(ns, ns);
    Count(in_line_->pulled(), now - start);
    Weigh(in_line_->pulled(), now);
    return block;
  }

  // Measures the cost of production, for HandOver.
  void Count(int64_t rows, int64_t ns) {
    if (!in_turns_) return;
    made_ns_.fetch_add(ns, std::memory_order_relaxed);
    made_rows_.fetch_add(rows, std::memory_order_relaxed);
  }

  // Called after `rows` rows were taken: changes the side that works if that pays.
  void Weigh(int64_t rows, MonoTime now) {
    // While the transfer is under way there is nothing to compare.
    if (!in_turns_ || rows == 0 || in_line_.has_value() != borrowed_ ||
        borrowed_ == hand_over_.pays() || workers_.refused()) {
      return;
    }
    const int makers = std::max(std::min(tuned_.width(), session_.threads()), 1);
    if (!hand_over_.Took(now, rows, made_ns_.load(std::memory_order_relaxed),
                         made_rows_.load(std::memory_order_relaxed), makers) ||
        hand_over_.pays() || !StackCarriesInput()) {
      return;
    }
    leave_.store(true, std::memory_order_release);  // pairs with the acquire in Leaves
    width_.NotifyAll();
    room_.NotifyAll();
  }

  // For the current thread; the next call may come from another one.
  bool StackCarriesInput() const { return StackCarries(StackUse::kRun, source_.depth_in_line()); }

  bool Leaves() const {
    return leave_.load(std::memory_order_acquire);  // pairs with the release in Weigh
  }

  // Call after all workers have returned and all their results were taken.
  void BorrowInput() {
    // Unrequested rows would pin their slabs.
    MakeSlabs();
    borrowed_ = true;
    RunInLine(0);
  }

  void ReturnInput() {
    grain_.store(in_line_->grain(), std::memory_order_relaxed);  // ordered by the starts
    in_line_.reset();
    borrowed_ = false;
    leave_.store(false, std::memory_order_relaxed);  // likewise
    threads_add_busy_ = true;
  }

  // Batches consist of consecutive rows, so rows can be written into slabs only if they are
  // delivered in order.
  void MakeSlabs() {
    if (batch_rows_ > 1) slabs_.emplace(batch_rows_, function_->slab_memory());
  }

  CallInfo Info(int64_t position) const {
    CallInfo info{&stage_, random_, progress_.base_index() + position};
    info.ragged = ragged_;
    info.retries = &stats_->retries;
    info.session = &session_;
    info.slow = &session_.slow();
    return info;
  }

  // The number of workers to start, including those already started. relaxed: a hint.
  int WorkersNeeded() const {
    if (begun_workers_ >= most_) return tuned_.width() + 1;
    return begun_workers_ + (slow_input_.load(std::memory_order_relaxed) ? 1 : 0);
  }

  void StartWorkers() {
    const int needed = WorkersNeeded();
    if (workers_.size() >= needed || workers_.refused()) return;
    if (input_ended_.load(std::memory_order_acquire)) return;  // pairs with the release in Pull
    session_.NoteThreads();
    if (!std::exchange(begun_, true)) progress_.Begin(input_);
    while (workers_.size() < needed) {
      try {
        workers_.Add();
      } catch (const std::system_error& refusal) {
        if (workers_.empty()) GoInLine();
        return session_.NoteRefusal(stage_, refusal);
      } catch (...) {  // interrupted, or out of memory
        if (workers_.empty()) throw;
        return;
      }
    }
  }

  // If no worker is left and the system refuses threads, the consumer does the work from then on.
  void Recall(bool needed) {
    try {
      if (!in_line_) workers_.Recall(wanted_, needed);
    } catch (const std::system_error& refusal) {
      session_.NoteRefusal(stage_, refusal);
      GoInLine();
    }
  }

  void GoInLine() {
    stats_->parallelism.store(1, std::memory_order_relaxed);
    RunInLine(source_.depth_in_line());
  }

  // `stages`: the depth to check the stack for at each call; 0: it is known to suffice.
  void RunInLine(int stages) {
    threads_add_busy_ = false;
    in_line_.emplace(MapInLine::Shared{session_, cancel_, *function_, input_, progress_},
                     Grain::Ahead(lane_).From(grain_.load(std::memory_order_relaxed)), stages);
  }

  // --- on the workers ---

  // The last worker to exit destroys the input on a thread that used it (generators are closed
  // there), unless all workers exited only temporarily. It must not wait: a recalled worker may
  // already hold the input, and will be the last one later.
  void DropInput() {
    ready_.NotifyOne();  // the consumer may wait for the workers to leave
    if (!input_ended_.load(std::memory_order_acquire) && !cancel_.cancelled()) return;
    input_.TryReset();
  }

  MonoTime Patience() const { return source_.calls_inline() ? kNoDeadline : ParkingPatience(); }

  bool Room() {
    if (!ring_.has_room(static_cast<uint64_t>(next_number_))) return false;
    return static_cast<uint64_t>(next_number_) == ring_.head() || !session_.budget().over();
  }

  // Whether the worker may pull: beyond the width, only one, and only while the input is slow.
  bool Wanted(int number) const {
    int width = tuned_.width();
    return number < width || (number == width && slow_input_.load(std::memory_order_relaxed));
  }

  void Work(int number, Parking& parking) {
    Session::Serving serving(session_);
    Grain grain = Grain::Ahead(lane_).From(grain_.load(std::memory_order_relaxed));
    CpuTiming cpu_timing;
    for (;;) {
      const InStage here(stats_);
      // A worker beyond the current width sleeps until it is needed again.
      WaitStatus wanted;
      {
        const WaitsFor room(Doing::kRoom);
        wanted = parking.Wait(width_, cancel_, Patience(), [&] {
          return Wanted(number) || Leaves() ||
                 input_ended_.load(std::memory_order_acquire);  // pairs with the release in Pull
        });
      }
      if (wanted != WaitStatus::kReady || input_ended_.load(std::memory_order_acquire)) return;
      if (Leaves()) return;
      Packet packet;
      SharedInput::Rows rows;
      if (!Pull(grain, parking, packet, rows)) return;
      const auto slot = static_cast<uint64_t>(packet.number);
      if (!packet.halted) {
        CallTurns::Turn turn(turns_, [this] { return tuned_.width(); });
        if (turn.status() != WaitStatus::kReady) return;
        try {
          Call(grain, cpu_timing, packet, rows.block);
        } catch (const std::bad_alloc&) {  // the number of rows with results is unknown
          packet = Packet();
          packet.halted = true;
        }
      }
      if (ordered_) {
        ring_.publish(slot, std::move(packet));
      } else {  // finished results are published regardless of older calls
        ring_.publish_next(std::move(packet));
      }
      ready_.NotifyOne();
    }
  }

  void Call(Grain& grain, CpuTiming& cpu_timing, Packet& packet, Block& rows) {
    const int64_t start = NowNs();
    const bool times_cpu = tuned_.moves() && cpu_timing.Due();
    const int64_t cpu_start = times_cpu ? ThreadCpuNs() : 0;
    std::optional<Error> error = std::exchange(rows.error, std::nullopt);
    packet.end = std::exchange(rows.end, false);
    int64_t count = rows.rows;
    if (count > 0) {
      CallInfo info = Info(packet.position);
      info.slabs = slabs_ ? &*slabs_ : nullptr;
      info.first_row = packet.position;
      info.cancel = &cancel_;
      try {
        function_->Map(std::move(rows), info, packet.results);
      } catch (const Error& failure) {
        packet.results.push_back(Block::Of(failure));
      }
    }
    if (error) packet.results.push_back(Block::Of(*std::move(error)));
    const int64_t took = NowNs() - start;
    StageStats::Add(stats_->busy_ns, took);
    if (times_cpu) cpu_timing.Took(took);
    if (tuned_.moves()) {
      const int64_t cpu = times_cpu ? ThreadCpuNs() - cpu_start : 0;
      tuned_.Called(took, cpu * cpu_timing.stands_for());
    }
    grain.Learn(count, took);
    grain_.store(grain.rows(), std::memory_order_relaxed);  // a hint
    packet.rows = count;
    Count(count, took);
    packet.Charge(session_.budget());
    if (tuned_.moves()) tuned_.Made(packet.charge.bytes());
    // acquire: pairs with the release in StatsSink::Observe.
    if (CallTimes* calls = stats_->calls.load(std::memory_order_acquire)) {
      calls->Add(took, count, static_cast<size_t>(packet.charge.bytes()));
    }
  }

  // Called under the input's lock: waits for room, pulls a block and numbers it. Returns false if
  // there is nothing more to do.
  bool Pull(const Grain& grain, Parking& parking, Packet& packet, SharedInput::Rows& rows) {
    const auto token = input_.Hold();
    if (input_ended_.load(std::memory_order_relaxed) || cancel_.cancelled() || Leaves())
      return false;
    // One worker has already waited on behalf of all that follow it.
    MonoTime patience = full_ ? 0 : Patience();
    {
      const WaitsFor room(session_.budget().over() ? Doing::kMemory : Doing::kRoom);
      full_ = parking.Wait(room_, cancel_, patience, [this] { return Leaves() || Room(); }) !=
              WaitStatus::kReady;
    }
    if (full_ || cancel_.cancelled() || Leaves()) return false;
    input_.Pull(grain.rows(), NowNs(), rows);
    const std::optional<Error>& error = rows.block.error;
    if (!rows.halted && error && error->transient()) return false;
    bool slow = input_.slow();
    if (slow_input_.exchange(slow, std::memory_order_relaxed) != slow && slow) width_.NotifyAll();
    packet.position = rows.position;
    packet.state = std::move(rows.state);
    packet.halted = rows.halted;
    StageStats::Add(stats_->busy_ns, rows.pull_ns);
    tuned_.Pulled(rows.pull_ns);
    Count(0, rows.pull_ns);
    packet.number = next_number_++;
    if (rows.block.end && slabs_) slabs_->EndAt(packet.position + rows.block.rows);
    if (rows.block.end || packet.halted) {
      input_ended_.store(true, std::memory_order_release);  // pairs with the acquire in Work
      width_.NotifyAll();
    }
    return true;
  }

  // --- on the consumer ---

  WaitStatus Pop(Packet& packet) {
    auto pop = [&] {
      return ordered_ ? ring_.try_pop(packet) : ring_.try_pop_any(packet, nullptr);
    };
    if (pop()) return WaitStatus::kReady;
    if (!Leaves()) Recall(true);
    // The last worker may have published something before it exited; otherwise the caller produces
    // the next rows.
    if (in_line_) return pop() ? WaitStatus::kReady : WaitStatus::kTimeout;
    int64_t start = NowNs();
    bool popped = false;
    const WaitStatus status =
        WaitForWorkers([&] { return (popped = pop()) || (Leaves() && workers_.idle()); });
    int64_t waited = NowNs() - start;
    stats_->wait_ns.fetch_add(waited, std::memory_order_relaxed);
    tuned_.Waited(waited);
    if (popped || status != WaitStatus::kReady) return status;
    if (pop()) return WaitStatus::kReady;
    workers_.Join();
    if (StackCarriesInput()) {
      BorrowInput();
      return WaitStatus::kTimeout;
    }
    leave_.store(false, std::memory_order_relaxed);  // ordered by the starts
    StartWorkers();
    return Pop(packet);
  }

  // Waits on ready_, and starts workers during the wait if there are too few.
  template <class Ready>
  WaitStatus WaitForWorkers(Ready ready) {
    int64_t look = kStarvedNs;
    while (begun_workers_ < most_ && !Leaves() && !workers_.refused()) {
      const bool starved =
          turns_.running() >= workers_.size();  // otherwise workers wait for the input
      const MonoTime start = NowNs();
      const MonoTime until = start + (starved ? kStarvedNs - starved_ns_ : look);
      const WaitStatus status = WaitUntil(ready_, cancel_, until, ready);
      if (starved) starved_ns_ += NowNs() - start;
      if (starved_ns_ >= kStarvedNs) {
        starved_ns_ = 0;
        begun_workers_ = std::min(2 * begun_workers_, most_);
        StartWorkers();
      }
      if (status != WaitStatus::kTimeout) return status;
      look = starved ? kStarvedNs : std::min(2 * look, kLongestLookNs);
    }
    return WaitUntil(ready_, cancel_, ready);
  }

  void Deliver(int64_t steps) {
    tuned_.Delivered(steps);
    if (pending_.empty()) charge_.Reset();
    progress_.Deliver(steps);
  }

  void Tune() {
    if (!tuned_.Tune()) return;
    ShowWidth();
    width_.NotifyAll();
    room_.NotifyOne();
    turns_.Changed();
  }

  // The ring holds twice as many results as can be produced concurrently.
  void ShowWidth() {
    const int width = tuned_.width();
    ring_.set_limit(static_cast<size_t>(std::max(2 * width, 4)));
    stats_->parallelism.store(width, std::memory_order_relaxed);
    stats_->buffer_limit.store(static_cast<int32_t>(ring_.limit()), std::memory_order_relaxed);
  }

  Session& session_;
  const StageLabel& stage_;
  const FunctionPtr function_;
  const StageRandom random_;
  const Dataset& source_;  // the input's stage
  const Lane lane_;
  const bool ragged_;  // the consumer accepts ragged blocks
  const bool ordered_;
  const bool flagged_;
  const int most_;
  const bool in_turns_;       // the consumer may do the work if that is faster
  const int64_t batch_rows_;  // rows per batch of the consumer; 0: no batches
  CancelToken cancel_;
  CallShare share_;

  SharedInput input_;
  bool full_ = false;  // there was no room for long
  int64_t next_number_ = 0;

  StageStats* stats_;
  SlotRing<Packet> ring_;
  EventCount room_;   // the worker that pulls next waits for room
  EventCount width_;  // workers beyond the width wait until they are needed
  EventCount ready_;  // the consumer waits
  CancelToken::Watch room_watch_;
  CancelToken::Watch width_watch_;
  Budget::Watch budget_watch_;
  CancelToken::Watch ready_watch_;
  CallTurns turns_;
  std::atomic<bool> input_ended_{false};
  std::atomic<bool> slow_input_{false};
  std::atomic<bool> leave_{false};   // asks the workers to leave the input to the consumer
  std::atomic<int64_t> grain_{1};    // rows of the last block
  std::atomic<int64_t> made_ns_{0};  // of all pulls and calls, while in_turns_; estimates
  std::atomic<int64_t> made_rows_{0};
  std::optional<Slabs> slabs_;

  PendingBlocks pending_;
  BudgetCharge charge_;
  MapProgress progress_;
  int64_t taken_ = 0;
  int64_t ended_at_ = -1;
  bool halted_ = false;
  bool begun_ = false;     // the input has started
  bool borrowed_ = false;  // the consumer does the work as long as that pays
  HandOver hand_over_;
  TimedSteps<10'000, 8> timing_;  // of work done by the consumer
  TunedStage tuned_;
  std::optional<MapInLine> in_line_;
  // At most most_; see the comment on the class.
  int begun_workers_;
  int64_t starved_ns_ = 0;  // the consumer's wait since the last doubling
  const std::function<bool(int)> wanted_ = [this](int number) { return Wanted(number); };
  Crew workers_;  // last: joined before its dependencies are destroyed
};

IteratorPtr ParallelMapDataset::MakeIterator(const RunContext& context) const {
  if (!context.threads) return in_line_->Start(context);
  const bool ordered =
      context.replayed || ordered_.value_or(context.session->options().deterministic);
  return MakeParallelCalls(*this, context,
                           {context.Executed(function_, *this, calls_), calls_, ordered});
}

// `kind`: the sequential form.
std::shared_ptr<Dataset> MakeParallelMap(const char* kind, const std::vector<DatasetPtr>& inputs,
                                         const Args& args) {
  MaybeSpec declared;
  if (args.Has("output_signature")) declared = args.Spec("output_signature");
  int64_t calls = args.Int("num_parallel_calls");
  if (calls != kAutotune) calls = args.IntAtLeast("num_parallel_calls", 1);
  std::optional<bool> ordered;
  if (args.Has("deterministic")) ordered = args.Bool("deterministic");
  return std::make_shared<ParallelMapDataset>(WithRetries(args.Callable("map_func"), args),
                                              std::move(declared), calls, ordered,
                                              MakeDataset(kind, inputs, args));
}

const RegisterDataset parallel_map_stage("parallel_map",
                                         {.form_of = "map",
                                          .timing_arguments = {"num_parallel_calls", "max_retries"},
                                          .share_states = {"deterministic"},
                                          .arguments = {{"output_signature", ArgumentForm::kSpec}}},
                                         [](const std::vector<DatasetPtr>& inputs,
                                            const Args& args) {
                                           return MakeParallelMap("map", inputs, args);
                                         });
const RegisterDataset parallel_from_indexable_stage(
    "parallel_from_indexable",
    {.form_of = "from_indexable",
     .fetches = true,
     .timing_arguments = {"num_parallel_calls"},
     .share_states = {"deterministic"},
     .arguments = {{"output_signature", ArgumentForm::kSpec}}},
    [](const std::vector<DatasetPtr>& inputs, const Args& args) {
      return MakeParallelMap("from_indexable", inputs, args);
    });

}  // namespace

IteratorPtr MakeParallelCalls(const Dataset& data, const RunContext& context, ParallelCalls calls) {
  if (calls.function->suspends()) {
    return MakeOngoingMap(data, context, std::move(calls));
  }
  return std::make_unique<ParallelMapIterator>(data, context, context.cancel.Child(),
                                               std::move(calls));
}

}  // namespace penstock
