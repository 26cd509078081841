// Filling the reservoir, drawing from it, and rebuilding it after a restore.
#include "stages/shuffle/shuffle_buffer.h"

#include <algorithm>
#include <limits>
#include <new>

#include "data/block_size.h"
#include "storage/stop_check.h"

namespace penstock {
void ShuffleState::Visit(StateVisitor& visitor) {
  visitor.UInt(key);
  visitor.Count(drawn, "elements drawn");
  visitor.Count(items, "elements pulled");
  visitor.Bool(ended);
  visitor.Count(forgotten, "steps that failed long ago");
  visitor.Ints(failed);
  visitor.Count(pulled, "steps pulled");
  visitor.Count(back, "steps to be pulled again", pulled);
  if (visitor.saving()) return;
  visitor.Demand(drawn <= items && items <= pulled && forgotten <= pulled,
                 "no more elements can be drawn than were pulled");
  int64_t last = -1;
  for (int64_t position : failed) {
    visitor.Demand(position > last && position < pulled, "steps that failed must be in order");
    last = position;
  }
}

void ShuffleBuffer::VisitState(StateVisitor& visitor) {
  if (!visitor.saving()) return Restore(visitor);
  int64_t low = Low();
  ForgetFailures(base_ + low);
  // After a restore, the input has not caught up until the first call.
  int64_t pulled = std::max(base_ + position(), refill_until_);
  ShuffleState state{key_.value, slots_.drawn(), items_, ended_,
                     forgotten_, failed_,        pulled, pulled - base_ - low};
  state.Visit(visitor);
  ahead_.input().VisitState(visitor, ahead_.input().position() - low);
}

int64_t ShuffleBuffer::Draining() {
  if (!ended_ || Refilling()) return 0;
  if (!slots_.empty() && !ahead_.input().retired()) ahead_.input().Retire();
  return static_cast<int64_t>(slots_.slots().size());
}

std::optional<Error> ShuffleBuffer::FillAhead(int64_t steps) {
  Fill(std::min(steps, kMostBlockRows), 0);
  if (!ahead_.interrupted()) return std::nullopt;
  return ahead_.TakeError();
}

Block ShuffleBuffer::DoNextBlock(int64_t max_rows) {
  if (Refilling()) {
    if (auto error = Refill()) return Block::Of(*std::move(error));
  }
  return Draw(std::min(max_rows, kMostBlockRows));
}

// A block ends before a row that is stored in a different form than the previous ones. Rows drawn
// when memory ran out are delivered first.
Block ShuffleBuffer::Draw(int64_t max_rows) {
  const auto most = static_cast<size_t>(max_rows);
  Block out;
  while (drawn_.size() < most) {
    Fill(std::numeric_limits<int64_t>::max(), max_rows - static_cast<int64_t>(drawn_.size()) - 1);
    if (!slots_.full() && !ended_) {  // an error is next
      if (drawn_.empty()) return Block::Of(TakeError());
      break;
    }
    if (slots_.empty()) {
      out.end = true;
      break;
    }
    PrefetchNext();
    uint64_t choice = slots_.Choice();
    RowStore::Cell cell = slots_.slots()[choice].cell;
    if (!drawn_.empty() && cell->structure != drawn_[0]->structure) break;
    drawn_.push_back(cell);
    slots_.Draw(choice);
    // Iterating over the slots costs as much as refilling them all, so do it once in `size_` draws.
    if (slots_.drawn() % size_ == 0) {
      int64_t low = Low();
      ahead_.input().Keep(low);
      ForgetFailures(base_ + low);
    }
  }
  const size_t rows = std::min(most, drawn_.size());
  cells_.Take(std::span(drawn_).first(rows), out);
  drawn_.erase(drawn_.begin(), drawn_.begin() + static_cast<std::ptrdiff_t>(rows));
  out.end = out.end && drawn_.empty();
  if (!ended_ && drawn_.empty() && cells_.wasteful()) MoveRows();
  held_.Set(cells_.bytes());
  return out;
}

void ShuffleBuffer::MoveRows() {
  std::vector<RowStore::Cell*> all;
  try {
    all.reserve(slots_.slots().size());
  } catch (const std::bad_alloc&) {
    return;  // try again later
  }
  for (Held& held : slots_.slots()) all.push_back(&held.cell);
  cells_.Move(all);
}

// In a buffer larger than the CPU's caches, each draw would wait for memory twice: for the slot and
// for the row. While the slots are full, the next choices are known.
void ShuffleBuffer::PrefetchNext() const {
  if (!slots_.full()) return;
  Prefetch(&slots_.Ahead(16));
  Prefetch(slots_.Ahead(8).cell);
}

// Processes up to `steps` input steps, until the buffer is full, the input has ended, or an error
// is next. Beyond the current room, `more` rows will be needed before this returns to the consumer,
// so they may be pulled together.
void ShuffleBuffer::Fill(int64_t steps, int64_t more) {
  while (!slots_.full() && !ended_) {
    if (!ahead_.empty()) {
      if (steps-- == 0) return;
      slots_.MakeRoom();
      const int64_t at = base_ + position();
      slots_.Add({at, KeepNext()});
      ++items_;
    } else if (ahead_.failed()) {
      return;
    } else if (ahead_.ended()) {
      ended_ = true;
    } else if (cancel_.cancelled()) {
      throw Error(ErrorKind::kCancelled, "");
    } else if (steps > 0) {
      Pull(std::min({steps, slots_.room() + more, kMostBlockRows}));
    } else {
      return;
    }
  }
}

// Rows pulled together share memory and must be copied out of it, so this is only done if they are
// small.
void ShuffleBuffer::Pull(int64_t rows) {
  held_.Set(cells_.bytes());
  if (auto excess = held_.Excess()) throw *std::move(excess);
  ahead_.input().Mark();
  ahead_.Pull(rows);
  const Block& block = ahead_.block();
  ahead_packs_ = block.rows > 0 && block.stacked() && cells_.Packs(block.structure, block.columns);
}

// Stores the next pulled row.
RowStore::Cell ShuffleBuffer::KeepNext() {
  if (ahead_packs_) {
    const Block& block = ahead_.block();
    const int64_t row = ahead_.next();
    if (RowStore::Cell cell = cells_.Put(block.columns, row, block.origin(row))) {
      ahead_.Pass();
      return cell;
    }
  }
  Element element = ahead_.Take();
  try {
    return cells_.Put(std::move(element));
  } catch (const std::bad_alloc&) {
    ahead_.Return(std::move(element));
    throw;
  }
}

void ShuffleBuffer::Clear() {
  for (RowStore::Cell cell : drawn_) cells_.Drop(cell);
  for (const Held& held : slots_.slots()) {
    if (held.cell) cells_.Drop(held.cell);
  }
  drawn_.clear();
  slots_.slots().clear();
}

Error ShuffleBuffer::TakeError() {
  int64_t at = base_ + position();
  Error error = ahead_.TakeError();
  if (!error.transient()) failed_.push_back(at);
  return error;
}

// The position, in the input's own count, of the oldest element held.
int64_t ShuffleBuffer::Low() const {
  int64_t low = position();
  for (auto& held : slots_.slots()) low = std::min(low, held.position - base_);
  return low;
}

// For errors before the oldest element held, only their number matters, not their positions.
void ShuffleBuffer::ForgetFailures(int64_t low) {
  auto end = std::lower_bound(failed_.begin(), failed_.end(), low);
  forgotten_ += end - failed_.begin();
  failed_.erase(failed_.begin(), end);
}

// Repeats the choices over element indices only. Then the input, which starts at the oldest element
// held, is read again up to its saved position.
void ShuffleBuffer::Restore(StateVisitor& visitor) {
  ShuffleState state;
  state.Visit(visitor);
  key_.value = state.key;
  items_ = state.items;
  ended_ = state.ended;
  forgotten_ = state.forgotten;
  failed_ = std::move(state.failed);
  ahead_.input().VisitState(visitor, 0);
  // Memory for many slots is allocated before their elements arrive. The input may have yielded a
  // few more elements than declared.
  visitor.Demand(known_ < 0 || std::min(size_, items_) / 2 <= std::max(known_, int64_t{1} << 20),
                 "no more elements can be held than there are");
  slots_ = Reservoir<Held>(key_, size_, state.drawn);
  StopCheck stop(&cancel_);
  for (int64_t item : SlotsAfter(key_, size_, items_, state.drawn, [&stop] { stop.Look(); })) {
    slots_.Add({item, nullptr});
  }
  base_ = state.pulled - state.back;
  refill_until_ = state.pulled;
  // Convert indices to positions: failed steps have no index.
  std::vector<Held*> held;
  for (Held& one : slots_.slots()) held.push_back(&one);
  std::sort(held.begin(), held.end(), [](Held* a, Held* b) { return a->position < b->position; });
  auto failure = failed_.begin();
  int64_t failures = forgotten_;
  for (Held* one : held) {
    while (failure != failed_.end() && *failure <= one->position + failures) ++failure, ++failures;
    one->position += failures;
    // All held elements must be pulled again.
    visitor.Demand(one->position >= base_ && one->position < refill_until_,
                   "elements that are held must be pulled again");
  }
  for (size_t i = 0; i < slots_.slots().size(); ++i) waiting_[slots_.slots()[i].position] = i;
}

std::optional<Error> ShuffleBuffer::Refill() {
  while (base_ + ahead_.input().position() < refill_until_ && !waiting_.empty()) {
    if (cancel_.cancelled()) return Error(ErrorKind::kCancelled, "");
    int64_t position = base_ + ahead_.input().position();
    Step step = ahead_.input().Next();
    if (auto* error = std::get_if<Error>(&step); error && error->transient()) return *error;
    if (std::holds_alternative<End>(step)) break;
    auto found = waiting_.find(position);
    if (found == waiting_.end() || !std::holds_alternative<Element>(step)) continue;
    slots_.slots()[found->second].cell = cells_.Put(std::get<Element>(std::move(step)));
    waiting_.erase(found);
  }
  if (!waiting_.empty()) {
    waiting_.clear();
    refill_until_ = 0;
    Clear();
    ended_ = true;
    return Error(ErrorKind::kRuntime,
                 "shuffle: the input has fewer elements than when the state was saved");
  }
  // Steps after the last held element had failed, and their errors were reported.
  int64_t rest = refill_until_ - base_ - ahead_.input().position();
  if (rest > 0) return ahead_.input().Discard(rest);
  return std::nullopt;
}

}  // namespace penstock
