// The state of an iterator is the name of its kind, followed by the fields it visits.
#include "engine/state.h"

#include <algorithm>
#include <iterator>

#include "data/error.h"
#include "engine/iterator.h"
#include "runtime/clock.h"

namespace penstock {
namespace {

// The stage that may be added or removed between saving and restoring: it affects only timing, and
// batch(num_parallel_calls=n) is a batch followed by a prefetch. Its state has the format of
// StateTrail: the number of steps to skip, then the state of its input. The state of distribute is
// the same, with additions only if elements overtook others.
constexpr std::string_view kPrefetch = "prefetch";

void RestoreBehindPrefetch(std::string_view input, Iterator& prefetch) {
  std::string child;
  std::string text(input);
  StateVisitor(&child).Text(text);  // as VisitChild would have written it
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

void RestoreChild(std::string_view saved, Iterator& iterator) {
  // Skips nested prefetches that this pipeline does not have. There may be many, hence a loop
  // instead of recursion.
  int64_t skip = 0;
  for (;;) {
    StateVisitor inner(saved, iterator.name());
    std::string_view kind = inner.TextView();
    if (kind == iterator.name() || kind == iterator.state_name()) {
      iterator.VisitState(inner);
      inner.ExpectEnd();
    } else if (kind == kPrefetch) {
      int64_t more;
      bool present;
      inner.Count(more, "steps to pass over after prefetch", StateVisitor::kMostCount - skip);
      skip += more;
      inner.Bool(present);
      if (present) {
        StateVisitor blob(inner.TextView());
        inner.ExpectEnd();
        saved = blob.TextView();
        blob.ExpectEnd();
        continue;
      }
      inner.ExpectEnd();
    } else if (iterator.state_name() == kPrefetch) {
      RestoreBehindPrefetch(saved, iterator);
    } else {
      throw Error(
          ErrorKind::kInvalidArgument,
          "set_state: the state was saved by another pipeline: it has {} where this one has {}",
          kind, iterator.name());
    }
    break;
  }
  if (skip == 0) return;
  if (auto error = iterator.Discard(skip)) throw *std::move(error);
}

}  // namespace

std::string ChildState(Iterator& iterator) {
  std::string own;
  StateVisitor inner(&own);
  std::string kind = iterator.state_name();
  inner.Text(kind);
  iterator.VisitState(inner);
  return own;
}

void VisitChild(StateVisitor& visitor, Iterator& iterator) {
  if (!visitor.saving()) return RestoreChild(visitor.TextView(), iterator);
  std::string own = ChildState(iterator);
  visitor.Text(own);
}

StateBlob SaveState(Iterator& iterator) {
  auto blob = std::make_shared<std::string>();
  StateVisitor visitor(blob.get());
  VisitChild(visitor, iterator);
  return blob;
}

void RestoreState(Iterator& iterator, const StateBlob& blob) {
  if (!blob) return;
  StateVisitor visitor(*blob, iterator.name());
  VisitChild(visitor, iterator);
  visitor.ExpectEnd();
}

void StateTrail::Reset(int64_t position, StateBlob blob) {
  marks_.clear();
  marks_.push_back({position, std::move(blob)});
}

void StateTrail::Add(int64_t position, StateBlob blob) {
  // Usually appended at the end; blocks taken out of order add older positions.
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

StateBlob MarkClock::Take(Iterator& iterator) {
  int64_t start = NowNs();
  StateBlob blob;
  try {
    blob = SaveState(iterator);
  } catch (const std::exception&) {  // in the middle of a step, or out of memory: try again later
  }
  int64_t now = NowNs();
  cost_ns_ = std::clamp<int64_t>(now - start, 1, 2 * cost_ns_);
  due_ns_ = now + 100 * cost_ns_;
  return blob;
}

}  // namespace penstock
