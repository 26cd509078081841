// The producer's thread, and the consumer's side.
#include "engine/producer.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>

#include "engine/out_of_memory.h"
#include "engine/stack_need.h"
#include "runtime/activity.h"
#include "runtime/clock.h"
#include "runtime/trace.h"

namespace penstock {
namespace {

constexpr int64_t kMostRing = 4096;
constexpr int64_t kMostAutotunedBuffer = 64;
constexpr int64_t kSmallBytes = 64 << 10;  // join small packets up to this size

size_t RingSize(int64_t limit) {
  return static_cast<size_t>(limit == kAutotune ? kMostAutotunedBuffer
                                                : std::min(limit, kMostRing));
}

// The result of a take whose wait ended early.
Block EndOfWait(WaitStatus status) {
  return Block::Of(Error(
      status == WaitStatus::kInterrupted ? ErrorKind::kInterrupted : ErrorKind::kCancelled, ""));
}

std::string FewerMicroseconds(const Varied& made, const Varied& used, int64_t from, int64_t to) {
  const double fewer = StarvedSeconds(made, used, static_cast<double>(from)) -
                       StarvedSeconds(made, used, static_cast<double>(to));
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", fewer * 1e6);
  return text;
}

}  // namespace

WaitStatus Permits::Acquire(const CancelToken& cancel) {
  return WaitUntil(event_, cancel, [this] {
    int64_t left = left_.load(std::memory_order_relaxed);
    while (left > 0) {
      // acq_rel: orders the pulls of successive holders; pairs with itself and Release.
      if (left_.compare_exchange_weak(left, left - 1, std::memory_order_acq_rel)) return true;
    }
    return false;
  });
}

void Permits::Release() {
  left_.fetch_add(1, std::memory_order_acq_rel);  // pairs with Acquire
  event_.NotifyAll();
}

Producer::Producer(Session& session, const Dataset& data, IteratorPtr input, CancelToken cancel,
                   StageStats* stats, ProducerOptions options)
    : session_(session),
      lane_(data.lane()),
      input_(std::move(input)),
      cancel_(std::move(cancel)),
      stats_(stats),
      options_(std::move(options)),
      tunes_(options_.limit == kAutotune && session.options().tunes),
      ready_(options_.ready ? options_.ready : std::make_shared<EventCount>()),
      room_watch_(cancel_, room_),
      budget_watch_(session.budget(), room_),
      ready_watch_(cancel_, *ready_),
      limit_(options_.limit == kAutotune ? 2 : options_.limit),
      ring_(RingSize(options_.limit)),
      grain_(Grain::Ahead(lane_)) {
  stats_->buffer_limit.store(static_cast<int32_t>(limit_.load(std::memory_order_relaxed)),
                             std::memory_order_relaxed);
  if (options_.permits) permit_watch_.emplace(cancel_, options_.permits->event());
}

Producer::~Producer() {
  cancel_.Cancel();
  pump_.reset();
}

void Producer::Start() {
  if (pump_ || in_line_) return;
  if (!std::exchange(started_, true)) {
    restore_.Set(-trail_.front_position(), trail_.front_blob());
  }
  session_.NoteThreads();
  try {
    StartThread();
  } catch (const std::system_error& refusal) {
    session_.NoteRefusal(*options_.stage, refusal);
    in_line_ = true;
  }
}

void Producer::StartThread() {
  left_.store(false, std::memory_order_relaxed);  // ordered by the start of the thread
  pump_.emplace(lane_, options_.stage->kind.c_str(), [this] { Run(); });
}

bool Producer::Room() {
  int64_t buffered = buffered_.load(std::memory_order_acquire);  // pairs with the release in Take
  if (buffered >= limit_.load(std::memory_order_relaxed) || !ring_.has_room()) return false;
  return buffered == 0 || !session_.budget().over();
}

void Producer::Run() {
  Session::Serving serving(session_);
  try {
    if (!Produce()) {                                // another thread continues
      left_.store(true, std::memory_order_release);  // pairs with the acquire in Left
      ready_->NotifyAll();
      return;
    }
  } catch (const std::exception&) {  // no memory: errors of the input are returned as values
    // release: pairs with the acquire in Pop, so that packets already in the ring are seen first.
    halted_.store(true, std::memory_order_release);
    ready_->NotifyAll();
  }
  // The input is destroyed on the thread that ran it, because generators must be closed where they
  // were used.
  input_.reset();
}

[[gnu::always_inline]] inline Block Producer::Pull(int64_t most, std::optional<MonoTime> start,
                                                   Mark& mark) {
  const bool exact = session_.unordered();
  mark.position = pulled_;
  const std::optional<Error> unprepared = restore_.Prepare(*input_);
  // If the consumer pulls, nothing is ahead of the rows taken, so VisitState saves the current
  // state.
  if (!unprepared && !exact && !in_line_ && clock_.Due(*start)) mark.state = clock_.Take(*input_);
  const int64_t rows = exact ? 1 : std::clamp<int64_t>(grain_.rows(), 1, most);
  Block block = unprepared ? Block::Of(*unprepared) : input_->NextBlock(rows);
  const std::optional<Error>& error = block.error;
  const bool cut_short = error && error->transient();
  if (unprepared) block.end = !cut_short;
  if (start) Learn(block.rows, *start);
  pulled_ += block.rows + (error && !cut_short);
  // Nothing may be pulled again, so the state after each element is kept.
  if (exact && (block.rows > 0 || !cut_short)) {
    mark.state = SaveState(*input_);
    mark.position = pulled_;
  }
  ended_ = block.end || (error && EndsRun(*error));
  return block;
}

void Producer::Learn(int64_t rows, MonoTime start) {
  pulled_at_ = NowNs();
  const int64_t took = pulled_at_ - start;
  grain_.Learn(rows, took);
  pull_ns_.fetch_add(took, std::memory_order_relaxed);
  pull_rows_.fetch_add(rows, std::memory_order_relaxed);
  if (tunes_ && rows > 0) made_.Add(took, rows);
}

void Producer::Push(Packet packet) {
  packet.ahead = true;
  packet.charge = BudgetCharge(session_.budget(), static_cast<int64_t>(packet.block.footprint()));
  if (tunes_) pull_bytes_.fetch_add(packet.charge.bytes(), std::memory_order_relaxed);
  // release: pairs with the acquire in Room. Rows are counted before they can be taken.
  const int64_t count = packet.block.rows;
  const int64_t now = buffered_.fetch_add(count, std::memory_order_acq_rel) + count;
  stats_->buffer_size.store(static_cast<int32_t>(now), std::memory_order_relaxed);
  ring_.try_push(std::move(packet));  // Room saw space, and only this thread pushes
  ready_->NotifyAll();
}

bool Producer::Produce() {
  const MonoTime patience = options_.bound ? kNoDeadline : ParkingPatience();
  const auto leaves = [this] {
    return leave_.load(std::memory_order_acquire);  // pairs with the release in Weigh
  };
  while (!ended_ && !cancel_.cancelled()) {
    WaitStatus status;
    {
      const InStage here(stats_);
      const WaitsFor room(session_.budget().over() ? Doing::kMemory : Doing::kRoom);
      status = parking_.Wait(room_, cancel_, patience, [&] { return leaves() || Room(); });
    }
    if (status == WaitStatus::kReady && leaves()) return false;
    if (status == WaitStatus::kTimeout) return false;
    if (status != WaitStatus::kReady) break;
    if (options_.permits && options_.permits->Acquire(cancel_) != WaitStatus::kReady) break;
    Packet packet;
    {
      Permits::Held held(options_.permits.get());
      int64_t room =
          limit_.load(std::memory_order_relaxed) - buffered_.load(std::memory_order_acquire);
      packet.block = Pull(std::max<int64_t>(room, 1), NowNs(), packet.mark);
    }
    if (packet.block.error && packet.block.error->transient() && !ended_) break;
    Push(std::move(packet));
  }
  return true;
}

// Compiled as one function with PullHere and Pull, like the frame of Iterator.
[[gnu::always_inline]] inline Block Producer::TakeHere(int64_t max_rows, bool carries) {
  try {
    if (!carries) session_.RequireStackHere(options_.stages);
  } catch (const Error& error) {  // a caller that continues after the error reaches the end
    finished_ = true;
    return Block::Of(error);
  }
  if (options_.permits) {
    const WaitStatus status = options_.permits->Acquire(cancel_);
    if (status != WaitStatus::kReady) return EndOfWait(status);
  }
  const Permits::Held held(options_.permits.get());
  return PullHere(max_rows);
}

// Pulls at most as many rows as a thread would produce ahead, so that user functions are not called
// earlier.
[[gnu::always_inline]] inline Block Producer::PullHere(int64_t max_rows) {
  const int64_t limit = options_.limit == kAutotune ? kMostAutotunedBuffer : options_.limit;
  const int64_t most = std::min(limit, max_rows);
  const bool timed = timing_.Due();
  const MonoTime start = timed ? NowNs() : 0;
  Mark mark;
  Block block = Pull(most, timed ? std::optional(start) : std::nullopt, mark);
  if (timed) timing_.Took(pulled_at_ - start);
  if (ended_) {
    if (!mark.state && restore_.done()) mark = {clock_.Take(*input_), pulled_};
    input_.reset();  // as in Run
  }
  Note(mark, block);
  if (options_.in_turns) {
    if (timed)
      Weigh(block.rows, pulled_at_);
    else
      hand_over_.TookUntimed(block.rows);
  }
  if (block.rows == max_rows && block.error) {  // the error does not fit into one step
    pending_.Add(std::move(block));
    block = pending_.Take(max_rows);
  }
  Deliver(block);
  return block;
}

void Producer::Note(Mark& mark, Block& block) {
  if (mark.state) trail_.Add(mark.position, std::move(mark.state));
  finished_ = block.end;
  if (!block.error) return;
  block.end = false;  // the end follows the error
  // The input ran out of memory, which also ends the thread: each later call returns the same
  // error.
  if (EndsRun(*block.error)) halted_.store(true, std::memory_order_release);  // as in Run
}

void Producer::Deliver(const Block& block) {
  delivered_ += block.steps();
  trail_.Prune(delivered_);
}

int64_t Producer::Affordable() const {
  const int64_t rows = pull_rows_.load(std::memory_order_relaxed);
  const int64_t bytes = pull_bytes_.load(std::memory_order_relaxed);
  if (rows == 0 || bytes == 0) return kMostAutotunedBuffer;
  const Budget& budget = session_.budget();
  const int64_t left = std::max<int64_t>(budget.limit() - budget.used(), 0);
  const int64_t more = left / std::max<int64_t>(bytes / rows, 1);
  return buffered_.load(std::memory_order_relaxed) + std::min(more, kMostAutotunedBuffer);
}

void Producer::Tune() {
  const int64_t limit = limit_.load(std::memory_order_relaxed);
  if (limit >= kMostAutotunedBuffer) return;
  const Varied made = made_.Get();
  const Varied used = used_.Get();
  // The model assumes that the times of elements are independent. If slow elements arrive in
  // bursts, a larger buffer than the model recommends may still run empty; then double it.
  const int64_t wanted = std::max(BufferFor(made, used, kMostAutotunedBuffer), 2 * limit);
  const int64_t size = std::min({wanted, Affordable(), kMostAutotunedBuffer});
  if (size <= limit) return;
  limit_.store(size, std::memory_order_relaxed);
  stats_->buffer_limit.store(static_cast<int32_t>(size), std::memory_order_relaxed);
  session_.LogMove({0, *options_.stage, "buffer_size", limit, size,
                    Format("the buffer was found empty after it had been full, and the model "
                           "expects the consumer to wait {} us for an element less",
                           FewerMicroseconds(made, used, limit, size))});
}

bool Producer::Ready() {
  return !pending_.empty() || finished_ || !ring_.empty() || in_line_ ||
         halted_.load(std::memory_order_acquire);  // pairs with the release in Run
}

bool Producer::Left() const {
  return leave_.load(std::memory_order_relaxed) &&  // set by this side
         left_.load(std::memory_order_acquire);     // pairs with the release in Run
}

WaitStatus Producer::Next(Packet& packet) {
  if (Pop(packet)) return WaitStatus::kReady;
  const int64_t start = NowNs();
  bool popped = false;
  const WaitStatus status =
      WaitUntil(*ready_, cancel_, [&] { return (popped = Pop(packet)) || Left(); });
  stats_->wait_ns.fetch_add(NowNs() - start, std::memory_order_relaxed);
  if (popped || status != WaitStatus::kReady) return status;
  pump_.reset();  // its body has returned or is about to
  if (!StackCarriesInput()) ReturnInput();
  if (pump_) return Next(packet);
  in_line_ = true;
  return Pop(packet) ? WaitStatus::kReady : WaitStatus::kTimeout;  // its last packet
}

void Producer::MakeRoom(int64_t count) {
  // release: pairs with the acquire in Room.
  const int64_t left = buffered_.fetch_sub(count, std::memory_order_acq_rel) - count;
  stats_->buffer_size.store(static_cast<int32_t>(left), std::memory_order_relaxed);
  room_.NotifyOne();
  if (!parking_.Replace()) return;
  pump_.reset();  // its body has returned or is about to
  try {
    StartThread();
  } catch (...) {  // the next take tries again, and this packet comes before it
  }
}

void Producer::Weigh(int64_t rows, MonoTime now) {
  // While the transfer is under way there is nothing to compare.
  if (finished_ || in_line_ == hand_over_.pays()) return;
  if (!hand_over_.Took(now, rows, pull_ns_.load(std::memory_order_relaxed),
                       pull_rows_.load(std::memory_order_relaxed))) {
    return;
  }
  if (!hand_over_.pays()) {
    if (!StackCarriesInput()) return;
    leave_.store(true, std::memory_order_release);  // pairs with the acquire in Produce
    room_.NotifyAll();
    return;
  }
  ReturnInput();
}

void Producer::ReturnInput() {
  leave_.store(false, std::memory_order_relaxed);  // ordered by the start of the thread
  in_line_ = false;                                // likewise
  try {
    StartThread();
  } catch (const std::system_error&) {  // no thread available: pull here, as if none paid
    in_line_ = true;
  }
}

bool Producer::StackCarriesInput() const { return StackCarries(StackUse::kRun, options_.stages); }

// Takes the next packet, or an error once the thread has halted; returns false if nothing is ready.
bool Producer::Pop(Packet& packet) {
  if (ring_.try_pop(packet)) return true;
  // acquire: pairs with the release in Run; a second try_pop then sees all packets pushed before
  // it.
  if (!halted_.load(std::memory_order_acquire)) return false;
  if (!ring_.try_pop(packet)) packet.block = Block::Of(OutOfMemory(options_.stage->kind));
  return true;
}

int64_t Producer::Join(Packet& packet, int64_t max_rows) {
  Block& block = packet.block;
  int64_t bytes = packet.charge.bytes();
  int64_t count = 0;
  Packet more;
  while (!block.last() && block.rows < max_rows && bytes < kSmallBytes && ring_.try_pop(more)) {
    Block& next = more.block;
    count += next.rows;
    bytes += more.charge.bytes();
    if (more.mark.state) trail_.Add(more.mark.position, std::move(more.mark.state));
    finished_ = next.end;
    if (next.error && EndsRun(*next.error)) halted_.store(true, std::memory_order_release);
    const bool room = block.rows + next.rows + next.error.has_value() <= max_rows;
    if ((next.rows > 0 && !room) || !block.Concat(next)) {
      pending_charge_ = std::move(more.charge);
      pending_.Add(std::move(next));
      break;
    }
  }
  return count;
}

Block Producer::Take(int64_t max_rows) {
  Start();
  const bool borrowed = in_line_ && !hand_over_.pays();
  const bool carries = borrowed && StackCarriesInput();
  if (borrowed && !carries) ReturnInput();
  if (!pending_.empty()) return TakePending(max_rows);
  if (came_rows_ > 0) used_.Add(NowNs() - came_at_, std::exchange(came_rows_, 0));
  if (finished_) return Block::AtEnd();
  const bool pulls = in_line_ && ring_.empty() &&
                     !halted_.load(std::memory_order_acquire);  // pairs with the release in Run
  if (pulls) return TakeHere(max_rows, carries);
  if (options_.in_turns) hand_over_.Asked(NowNs());
  return TakeReady(max_rows);
}

Block Producer::TakeReady(int64_t max_rows) {
  if (tunes_) {
    int64_t buffered = buffered_.load(std::memory_order_relaxed);
    if (buffered >= limit_.load(std::memory_order_relaxed)) was_full_ = true;
    if (buffered == 0 && std::exchange(was_full_, false)) Tune();
  }
  Packet packet;
  const WaitStatus status = Next(packet);
  if (status == WaitStatus::kTimeout) {
    return TakeHere(max_rows, !hand_over_.pays() && StackCarriesInput());
  }
  if (status != WaitStatus::kReady) return EndOfWait(status);
  int64_t count = packet.block.rows;
  Note(packet.mark, packet.block);
  // Usually takes the whole packet. An error after the last row does not fit into one step.
  const bool whole = count < max_rows || (count == max_rows && !packet.block.error);
  if (whole && count < max_rows && !packet.block.stacked()) count += Join(packet, max_rows);
  if (packet.ahead) MakeRoom(count);
  if (options_.in_turns) Weigh(count, NowNs());
  if (tunes_) {
    came_at_ = NowNs();
    came_rows_ = count;
  }
  if (whole) {
    Deliver(packet.block);
    return std::move(packet.block);
  }
  pending_charge_ = std::move(packet.charge);
  pending_.Add(std::move(packet.block));
  return TakePending(max_rows);
}

Block Producer::TakePending(int64_t max_rows) {
  Block block = pending_.Take(max_rows);
  if (pending_.empty()) pending_charge_.Reset();
  Deliver(block);
  return block;
}

void Producer::VisitState(StateVisitor& visitor) {
  const bool here = in_line_ && input_ && delivered_ == pulled_ && restore_.done();
  if (visitor.saving() && here && StackCarriesInput()) {
    if (StateBlob blob = clock_.Take(*input_)) trail_.Add(delivered_, std::move(blob));
  }
  trail_.VisitState(visitor, delivered_);
}

std::optional<Error> Producer::Discard(int64_t& steps) {
  if (!started_) {  // the thread skips them when it starts
    trail_.Reset(-StepsMore(-trail_.front_position(), steps), trail_.front_blob());
    steps = 0;
    return std::nullopt;
  }
  while (steps > 0) {
    Block block = Take(steps);
    if (block.error && block.error->transient()) return block.error;
    if (block.rows == 0 && !block.error) steps = 0;
    steps -= std::min<int64_t>(steps, block.rows + block.error.has_value());
  }
  return std::nullopt;
}

}  // namespace penstock
