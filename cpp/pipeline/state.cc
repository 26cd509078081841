// The wire form of states: varints, length-prefixed text, a kind name before each iterator.
#include "pipeline/state.h"

#include <algorithm>
#include <iterator>

#include "element/error.h"
#include "pipeline/iterator.h"
#include "runtime/clock.h"

namespace penstock {
namespace {

[[noreturn]] void Damaged() {
  throw Error(ErrorKind::kInvalidArgument,
              "set_state: the state is damaged or truncated; use the bytes of get_state unchanged");
}

uint64_t Zigzag(int64_t v) {
  return (static_cast<uint64_t>(v) << 1) ^ static_cast<uint64_t>(v >> 63);
}
int64_t Unzigzag(uint64_t v) { return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1); }

}  // namespace

void StateVisitor::PutVarint(uint64_t value) {
  while (value >= 0x80) {
    out_->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out_->push_back(static_cast<char>(value));
}

uint64_t StateVisitor::GetVarint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (in_.empty()) Damaged();
    auto byte = static_cast<uint8_t>(in_.front());
    in_.remove_prefix(1);
    if (shift == 63 && byte > 1) Damaged();
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  Damaged();
}

void StateVisitor::Int(int64_t& value) {
  if (saving())
    PutVarint(Zigzag(value));
  else
    value = Unzigzag(GetVarint());
}

void StateVisitor::UInt(uint64_t& value) {
  if (saving())
    PutVarint(value);
  else
    value = GetVarint();
}

void StateVisitor::Bool(bool& value) {
  uint64_t bit = value;
  UInt(bit);
  if (bit > 1) Damaged();
  value = bit != 0;
}

void StateVisitor::Text(std::string& value) {
  if (!saving()) {
    value = GetText();
    return;
  }
  PutVarint(value.size());
  out_->append(value);
}

std::string_view StateVisitor::GetText() {
  uint64_t size = GetVarint();
  if (size > in_.size()) Damaged();
  std::string_view text = in_.substr(0, size);
  in_.remove_prefix(size);
  return text;
}

void StateVisitor::Ints(std::vector<int64_t>& values) {
  uint64_t size = values.size();
  UInt(size);
  if (!saving()) {
    if (size > in_.size()) Damaged();  // each takes a byte at least
    values.assign(size, 0);
  }
  uint64_t previous = 0;  // neighbours are close: deltas are short; they wrap around
  for (auto& value : values) {
    auto delta = static_cast<int64_t>(static_cast<uint64_t>(value) - previous);
    Int(delta);
    previous += static_cast<uint64_t>(delta);
    value = static_cast<int64_t>(previous);
  }
}

void StateVisitor::UInts(std::vector<uint64_t>& values) {
  uint64_t size = values.size();
  UInt(size);
  if (!saving()) {
    if (size > in_.size()) Damaged();
    values.assign(size, 0);
  }
  for (auto& value : values) UInt(value);
}

void StateVisitor::Blob(StateBlob& blob) {
  bool present = blob != nullptr;
  Bool(present);
  if (saving()) {
    if (!present) return;
    PutVarint(blob->size());
    out_->append(*blob);
  } else {
    blob = present ? std::make_shared<const std::string>(GetText()) : nullptr;
  }
}

namespace {

// The stage that may be put in or left out between saving and restoring: it changes nothing but the
// timing, and batch(num_parallel_calls=n) is one with a prefetch behind it. Its state is a
// StateTrail's: how many steps to pass over, and the state of its input.
constexpr std::string_view kPrefetch = "prefetch";

void RestoreBehindPrefetch(std::string_view input, Iterator& prefetch) {
  std::string child;
  std::string text(input);
  StateVisitor(&child).Text(text);  // as Child would have written it
  std::string state;
  StateVisitor saving(&state);
  int64_t skip = 0;
  StateBlob blob = std::make_shared<const std::string>(std::move(child));
  saving.Int(skip);
  saving.Blob(blob);
  StateVisitor restoring(state, kPrefetch);
  prefetch.VisitState(restoring);
  restoring.ExpectEnd();
}

}  // namespace

void StateVisitor::Child(Iterator& iterator) {
  if (!saving()) return RestoreChild(GetText(), iterator);
  std::string own;
  StateVisitor inner(&own);
  std::string kind = iterator.kind();
  inner.Text(kind);
  iterator.VisitState(inner);
  Text(own);
}

void StateVisitor::RestoreChild(std::string_view saved, Iterator& iterator) {
  // Prefetches that this pipeline has not, one around the other: no recursion, there may be many.
  int64_t skip = 0;
  for (;;) {
    StateVisitor inner(saved);
    std::string_view kind = inner.GetText();
    inner.stage_ = iterator.kind();
    if (kind == iterator.kind()) {
      iterator.VisitState(inner);
      inner.ExpectEnd();
    } else if (kind == kPrefetch) {
      int64_t more;
      bool present;
      inner.Count(more, "steps to pass over behind prefetch", kMostCount - skip);
      skip += more;
      inner.Bool(present);
      if (present) {
        StateVisitor blob(inner.GetText());
        inner.ExpectEnd();
        saved = blob.GetText();
        blob.ExpectEnd();
        continue;
      }
      inner.ExpectEnd();
    } else if (iterator.kind() == kPrefetch) {
      RestoreBehindPrefetch(saved, iterator);
    } else {
      throw Error(
          ErrorKind::kInvalidArgument,
          "set_state: the state was saved by another pipeline: it has {} where this one has {}",
          kind, iterator.kind());
    }
    break;
  }
  if (skip == 0) return;
  if (auto error = iterator.Discard(skip)) throw *std::move(error);
}

void StateVisitor::IntIn(int64_t& value, int64_t least, int64_t most, std::string_view what) {
  Int(value);
  if (saving() || (value >= least && value <= most)) return;
  ThrowDamaged(stage_, Format("{} must be from {} to {}, got {}", what, least, most, value));
}

void StateVisitor::IntsIn(std::vector<int64_t>& values, int64_t least, int64_t most,
                          std::string_view what) {
  Ints(values);
  if (saving()) return;
  for (int64_t value : values) {
    if (value >= least && value <= most) continue;
    ThrowDamaged(stage_, Format("{} must be from {} to {}, got {}", what, least, most, value));
  }
}

void StateVisitor::Count(int64_t& value, std::string_view what, int64_t most) {
  IntIn(value, 0, most, what);
}

void StateVisitor::ThrowDamaged(std::string_view stage, std::string_view what) {
  throw Error(ErrorKind::kInvalidArgument,
              "set_state: the state is damaged: {}{}{}; use the bytes of get_state unchanged, and "
              "the pipeline as it was",
              stage, stage.empty() ? "" : ": ", what);
}

void StateVisitor::ExpectEnd() const {
  if (!in_.empty()) Damaged();
}

StateBlob SaveState(Iterator& iterator) {
  auto blob = std::make_shared<std::string>();
  StateVisitor visitor(blob.get());
  visitor.Child(iterator);
  return blob;
}

void RestoreState(Iterator& iterator, const StateBlob& blob) {
  if (!blob) return;
  StateVisitor visitor(*blob, iterator.kind());
  visitor.Child(iterator);
  visitor.ExpectEnd();
}

void StateTrail::Reset(int64_t position, StateBlob blob) {
  marks_.clear();
  marks_.push_back({position, std::move(blob)});
}

void StateTrail::Add(int64_t position, StateBlob blob) {
  // Nearly always behind the last one; blocks taken out of order bring older ones.
  auto at = marks_.end();
  while (at != marks_.begin() && std::prev(at)->position > position) --at;
  if (at != marks_.begin() && std::prev(at)->position == position) {
    std::prev(at)->blob = std::move(blob);
    return;
  }
  marks_.insert(at, {position, std::move(blob)});
}

void StateTrail::Prune(int64_t low) {
  while (marks_.size() > 1 && marks_[1].position <= low) marks_.pop_front();
}

void StateTrail::Thin() {
  constexpr size_t kMost = 256;
  if (marks_.size() <= kMost) return;
  std::deque<Mark> kept;
  for (size_t i = 0; i < marks_.size(); i += 2) kept.push_back(std::move(marks_[i]));
  marks_ = std::move(kept);
}

void StateTrail::VisitState(StateVisitor& visitor, int64_t position) {
  if (visitor.saving()) {
    size_t i = marks_.size() - 1;
    while (i > 0 && marks_[i].position > position) --i;
    int64_t skip = position - marks_[i].position;
    visitor.Int(skip);
    visitor.Blob(marks_[i].blob);
    return;
  }
  int64_t skip;
  StateBlob blob;
  visitor.Count(skip, "steps to pass over");
  visitor.Blob(blob);
  Reset(-skip, std::move(blob));
}

bool MarkClock::Due() { return NowNs() >= due_ns_; }

StateBlob MarkClock::Take(Iterator& iterator) {
  int64_t start = NowNs();
  StateBlob blob;
  try {
    blob = SaveState(iterator);
  } catch (const std::exception&) {  // not in the middle of a step, or without memory: another time
  }
  int64_t now = NowNs();
  cost_ns_ = std::clamp<int64_t>(now - start, 1, 2 * cost_ns_);
  due_ns_ = now + 100 * cost_ns_;
  return blob;
}

}  // namespace penstock
