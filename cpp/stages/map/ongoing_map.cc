// map and filter whose calls wait without threads: one thread starts them, and a slot ring collects
// their results.
#include "stages/map/ongoing_map.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

#include "data/block_size.h"
#include "data/pending.h"
#include "engine/out_of_memory.h"
#include "engine/session.h"
#include "runtime/activity.h"
#include "runtime/clock.h"
#include "runtime/pump.h"
#include "runtime/slot_ring.h"
#include "runtime/wait.h"
#include "stages/map/map_in_line.h"
#include "stages/map/progress.h"
#include "stages/map/shared_input.h"

namespace penstock {
namespace {

// The meaning of AUTOTUNE: the usual connection limit of HTTP clients.
constexpr int64_t kUsualCalls = 100;
// Above the usual limit on open files.
constexpr int64_t kMostCalls = 1 << 16;

// A background thread waits until fewer calls than allowed are in progress, pulls as many rows as
// there is room for, and starts their calls. Each row has a number, under which the thread where
// its call ends publishes the result. The consumer takes numbers in order, or any number if order
// does not matter. A number keeps its slot of the ring until it is taken, so at most as many
// results as there are calls can wait for an older call.
class OngoingMapIterator final : public BlockIterator {
 public:
  OngoingMapIterator(const Dataset& data, const RunContext& context, CancelToken cancel,
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
        calls_(std::min(calls.calls == kAutotune ? kUsualCalls : calls.calls, kMostCalls)),
        cancel_(std::move(cancel)),
        input_(data.StartInput(context.OnThread(cancel_).Replayed()), false),
        stats_(data.Stats(context)),
        ring_(static_cast<size_t>(2 * calls_)),
        begun_(ring_.capacity()),
        room_watch_(cancel_, room_),
        budget_watch_(session_.budget(), room_),
        ready_watch_(cancel_, ready_) {
    threads_add_busy_ = true;
    stats_->parallelism.store(static_cast<int32_t>(calls_), std::memory_order_relaxed);
    stats_->buffer_limit.store(static_cast<int32_t>(ring_.limit()), std::memory_order_relaxed);
    if (session_.warming()) Start();
  }

  ~OngoingMapIterator() override {
    cancel_.Cancel();
    pump_.reset();
  }

  void VisitState(StateVisitor& visitor) override {
    progress_.VisitState(visitor, input_, flagged_);
  }

  std::optional<Error> Discard(int64_t& steps) override {
    // We cannot tell which rows pass until the predicate has run.
    if (pump_ || in_line_ || flagged_) return Iterator::Discard(steps);
    progress_.Discard(steps);
    return std::nullopt;
  }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    if (!flagged_) return NextResults(max_rows);
    return RowsThatStay([&] { return NextResults(max_rows); });
  }

 private:
  Block NextResults(int64_t max_rows) {
    if (!pump_ && !in_line_) Start();
    if (in_line_) return in_line_->Next(max_rows, Info(0), NowNs());
    while (pending_.empty()) {
      if (halted_) return Block::Of(OutOfMemory(stage_.kind));
      if (ended_at_ >= 0 && taken_ > ended_at_) return Block::AtEnd();
      MapPacket packet;
      WaitStatus status = Pop(packet);
      if (status == WaitStatus::kInterrupted) return Block::Of(Error(ErrorKind::kInterrupted, ""));
      if (status != WaitStatus::kReady) return Block::Of(Error(ErrorKind::kCancelled, ""));
      ++taken_;
      room_.NotifyOne();
      if (packet.halted) {
        halted_ = true;
        cancel_.Cancel();  // results of the other calls would follow it
        continue;
      }
      if (packet.end) ended_at_ = packet.number;
      progress_.Take(packet.position, std::move(packet.state));
      charge_ = std::move(packet.charge);
      pending_.Add(std::move(packet.results));
    }
    Block block = pending_.Take(max_rows);
    if (pending_.empty()) charge_.Reset();
    progress_.Deliver(block.steps());
    return block;
  }

  CallInfo Info(int64_t position) const {
    CallInfo info{&stage_, random_, progress_.base_index() + position};
    info.ragged = ragged_;
    info.retries = &stats_->retries;
    info.session = &session_;
    return info;
  }

  void Start() {
    session_.NoteThreads();
    progress_.Begin(input_);
    try {
      pump_.emplace(lane_, stage_.kind.c_str(), [this] { Run(); });
    } catch (const std::system_error& refusal) {  // then one call at a time
      stats_->parallelism.store(1, std::memory_order_relaxed);
      threads_add_busy_ = false;
      in_line_.emplace(MapInLine::Shared{session_, cancel_, *function_, input_, progress_},
                       Grain::Ahead(lane_), source_.depth_in_line());
      session_.NoteRefusal(stage_, refusal);
    }
  }

  // --- on the background thread ---

  void Run() {
    Session::Serving serving(session_);
    const InStage here(stats_);
    try {
      const std::unique_ptr<OngoingCalls> ongoing = function_->Ongoing(
          [this](std::vector<OngoingCalls::Ended> ended) { Take(std::move(ended)); }, 0);
      BeginAll(*ongoing);
      // Calls in progress end on their own, or are cancelled with the stage.
      const WaitsFor reason(Doing::kOngoing);
      WaitUntil(room_, cancel_, [this] { return InProgress() == 0; });
    } catch (const Error& error) {
      PublishEnd(Block::Of(error));
    } catch (const std::bad_alloc&) {
      Halt();
    }
    input_.TryReset();
  }

  // If this fails, earlier calls are not cancelled, because the consumer waits for their numbers.
  void BeginAll(OngoingCalls& ongoing) {
    try {
      while (BeginMore(ongoing)) continue;
    } catch (const Error& error) {
      PublishEnd(Block::Of(error));
    } catch (const std::bad_alloc&) {
      Halt();
    }
  }

  int64_t InProgress() const {
    return next_number_ - ended_.load(std::memory_order_acquire);  // pairs with the release in Take
  }

  // How many calls may start. One number stays free for what follows the last row.
  int64_t Room() const {
    const auto next = static_cast<uint64_t>(next_number_);
    if (next != ring_.head() && session_.budget().over()) return 0;
    const auto slots = static_cast<int64_t>(ring_.limit() - (next - ring_.head())) - 1;
    return std::min(slots, calls_ - InProgress());
  }

  // What the background thread waits for if there is no room. The ring has a slot for each allowed
  // call and as many for finished results.
  Doing Lacks() const {
    if (session_.budget().over()) return Doing::kMemory;
    return 2 * InProgress() > calls_ ? Doing::kOngoing : Doing::kRoom;
  }

  // Returns false if there is nothing more to start.
  bool BeginMore(OngoingCalls& ongoing) {
    {
      const WaitsFor reason(Lacks());
      if (WaitUntil(room_, cancel_, [this] { return Room() > 0; }) != WaitStatus::kReady)
        return false;
    }
    SharedInput::Rows rows;
    {
      const auto token = input_.Hold();
      input_.Pull(std::min(Room(), grain_.rows()), NowNs(), rows);
    }
    StageStats::Add(stats_->busy_ns, rows.pull_ns);
    if (rows.halted) return Halt();
    Block last;
    last.error = std::exchange(rows.block.error, std::nullopt);
    last.end = std::exchange(rows.block.end, false);
    const int64_t count = rows.block.rows;
    grain_.Learn(count, rows.pull_ns);
    const MonoTime now = NowNs();
    for (int64_t i = 0; i < count; ++i) {
      Begun& begun = begun_[static_cast<size_t>(next_number_ + i) % begun_.size()];
      begun.position = rows.position + i;
      begun.state = i == 0 ? std::move(rows.state) : nullptr;
      begun.at = now;
    }
    if (count > 0) ongoing.Begin(std::move(rows.block), Info(rows.position), next_number_);
    next_number_ += count;  // afterwards, because a Begin that throws has started no calls
    if (last.error && last.error->transient()) return false;
    if (!last.last()) return true;
    const bool ended = last.end;
    MapPacket packet;
    packet.position = rows.position + count;
    if (count == 0) packet.state = std::move(rows.state);
    packet.end = ended;
    if (last.error) packet.results.push_back(Block::Of(*std::move(last.error)));
    PublishLast(std::move(packet));
    return !ended;
  }

  void PublishEnd(Block block) {
    MapPacket packet;
    packet.end = true;
    packet.results.push_back(std::move(block));
    PublishLast(std::move(packet));
  }

  bool Halt() {
    MapPacket packet;
    packet.halted = true;
    PublishLast(std::move(packet));
    return false;
  }

  void PublishLast(MapPacket packet) {
    Publish(std::move(packet), next_number_++);
    ended_.fetch_add(1, std::memory_order_release);  // this number has no call
  }

  // --- on the background thread, and where calls end ---

  void Publish(MapPacket packet, int64_t number) {
    packet.number = number;
    if (ordered_) {
      ring_.publish(static_cast<uint64_t>(number), std::move(packet));
    } else {
      ring_.publish_next(std::move(packet));
    }
    ready_.NotifyOne();
  }

  void Take(std::vector<OngoingCalls::Ended> ended) {
    if (ended.empty()) {
      lost_.store(true, std::memory_order_release);  // pairs with the acquire in Pop
      ready_.NotifyAll();
      return;
    }
    const MonoTime now = NowNs();
    const int64_t slow_ns = session_.slow().limit_ns();
    // acquire: pairs with the release in StatsSink::Observe.
    CallTimes* const calls = stats_->calls.load(std::memory_order_acquire);
    for (OngoingCalls::Ended& call : ended) {
      if (call.results.empty()) continue;
      Begun& begun = begun_[static_cast<size_t>(call.number) % begun_.size()];
      const int64_t took = now - begun.at;
      StageStats::Add(stats_->busy_ns, took);
      if (slow_ns > 0 && took > slow_ns) NoteSlow(begun.position, took);
      MapPacket packet;
      packet.position = begun.position;
      packet.state = std::move(begun.state);
      packet.results = std::move(call.results);
      packet.Charge(session_.budget());
      if (calls) calls->AddOngoing(took, static_cast<size_t>(packet.charge.bytes()));
      Publish(std::move(packet), call.number);
    }
    // release: pairs with the acquire in InProgress. From then on the numbers' entries may be
    // reused.
    ended_.fetch_add(static_cast<int64_t>(ended.size()), std::memory_order_release);
    room_.NotifyOne();
  }

  void NoteSlow(int64_t position, int64_t ns) {
    session_.slow().Note(Format("{}, element {}", stage_.text(), progress_.base_index() + position),
                         ns);
  }

  // --- on the consumer ---

  WaitStatus Pop(MapPacket& packet) {
    auto pop = [&] {
      if (ordered_ ? ring_.try_pop(packet) : ring_.try_pop_any(packet, nullptr)) return true;
      // acquire: pairs with the release in Take. The consumer may be waiting for this very call.
      return packet.halted = lost_.load(std::memory_order_acquire);
    };
    if (pop()) return WaitStatus::kReady;
    const int64_t start = NowNs();
    const WaitStatus status = WaitUntil(ready_, cancel_, pop);
    stats_->wait_ns.fetch_add(NowNs() - start, std::memory_order_relaxed);
    return status;
  }

  // The input step of a number, kept until its call ends.
  struct Begun {
    int64_t position = 0;
    StateBlob state;
    MonoTime at = 0;  // start of the call
  };

  Session& session_;
  const StageLabel& stage_;
  const FunctionPtr function_;
  const StageRandom random_;
  const Dataset& source_;  // the input's stage
  const Lane lane_;
  const bool ragged_;  // the consumer accepts ragged blocks
  const bool ordered_;
  const bool flagged_;
  const int64_t calls_;
  CancelToken cancel_;

  SharedInput input_;
  Grain grain_ = Grain::Ahead(lane_);
  int64_t next_number_ = 0;
  std::atomic<int64_t> ended_{0};  // numbers whose calls have ended
  std::atomic<bool> lost_{false};  // a result could not be stored: out of memory

  StageStats* stats_;
  SlotRing<MapPacket> ring_;
  std::vector<Begun> begun_;  // indexed by number; an entry is in use as long as its ring slot
  EventCount room_;           // the background thread waits for room, or for the last calls to end
  EventCount ready_;          // the consumer waits
  CancelToken::Watch room_watch_;
  Budget::Watch budget_watch_;
  CancelToken::Watch ready_watch_;

  PendingBlocks pending_;
  BudgetCharge charge_;
  MapProgress progress_;
  int64_t taken_ = 0;
  int64_t ended_at_ = -1;
  bool halted_ = false;
  std::optional<MapInLine> in_line_;
  std::optional<Pump> pump_;  // last: joined before its dependencies are destroyed
};

}  // namespace

IteratorPtr MakeOngoingMap(const Dataset& data, const RunContext& context, ParallelCalls calls) {
  return std::make_unique<OngoingMapIterator>(data, context, context.cancel.Child(),
                                              std::move(calls));
}

}  // namespace penstock
