// Counting, marking and replaying an input's steps.
#include "engine/input.h"

#include <algorithm>
#include <utility>

#include "runtime/clock.h"

namespace penstock {

std::optional<Error> Input::Prepare() {
  if (to_discard_ > 0) {
    if (auto error = iterator_->Discard(to_discard_)) return error;
  }
  return std::nullopt;
}

void Input::Mark() {
  if (to_discard_ > 0 || !clock_.Due(NowNs())) return;
  if (StateBlob blob = clock_.Take(*iterator_)) trail_.Add(position_, std::move(blob));
  trail_.Thin();
}

Step Input::Next() {
  if (auto error = Prepare()) return *std::move(error);
  Step step = iterator_->Next();
  if (std::holds_alternative<Element>(step)) {
    ++position_;
  } else if (auto* error = std::get_if<Error>(&step); error && !error->transient()) {
    ++position_;
  }
  return step;
}

Block Input::NextBlock(int64_t max_rows) {
  if (auto error = Prepare()) return Block::Of(*std::move(error));
  if (max_rows > 1) Mark();
  return Pull(max_rows);
}

Block Input::NextRows(int64_t max_rows) {
  if (auto error = Prepare()) return Block::Of(*std::move(error));
  return Pull(max_rows);
}

// Inlined into both callers, like the frame of Iterator.
[[gnu::always_inline]] inline Block Input::Pull(int64_t max_rows) {
  Block block = iterator_->NextBlock(max_rows);
  position_ += block.steps();
  return block;
}

std::optional<Error> Input::Discard(int64_t& steps) {
  if (auto error = Prepare()) return error;
  int64_t before = steps;
  auto error = iterator_->Discard(steps);
  position_ += before - steps;
  return error;
}

std::optional<Error> Input::Pass(int64_t& steps) {
  if (auto error = Prepare()) return error;
  int64_t before = steps;
  auto error = iterator_->Pass(steps);
  position_ += before - steps;
  return error;
}

std::optional<Error> Input::PassSound(int64_t& steps) {
  if (auto error = Prepare()) return error;
  int64_t before = steps;
  auto error = iterator_->PassSound(steps);
  position_ += before - steps;
  return error;
}

void Input::Retire() {
  trail_.Add(position_, SaveState(*iterator_));
  iterator_.reset();
}

void Input::VisitState(StateVisitor& visitor, int64_t back) {
  // The format is the same as for stages that run ahead (StateTrail), so a state does not depend on
  // whether the stage ran inline or in threads.
  if (visitor.saving() && back == 0 && to_discard_ == 0 && iterator_)
    trail_.Add(position_, SaveState(*iterator_));
  // Below 0: from stages that no longer exist (kOfThePast).
  trail_.VisitState(visitor, position_ - std::max<int64_t>(back, 0));
  if (!visitor.saving()) {
    RestoreState(*iterator_, trail_.front_blob());
    to_discard_ = -trail_.front_position();
  }
}

}  // namespace penstock
