// The input of a stage that may have to save its position as of some steps ago.
#pragma once

#include "engine/iterator.h"

namespace penstock {

// Counts the steps pulled, and keeps enough past states to save any position since Keep's. A stage
// may hold elements that it has pulled but not delivered (a partial batch, a shuffle buffer, a
// block emitted row by row). It saves its input as of `back` steps ago and pulls them again after a
// restore.
class Input {
 public:
  explicit Input(IteratorPtr iterator) : iterator_(std::move(iterator)) {}

  Step Next();
  // If it may return more than one row, marks the position first, because the stage may emit only
  // some of the rows.
  Block NextBlock(int64_t max_rows);
  // Like NextBlock, for a stage that calls Mark itself.
  Block NextRows(int64_t max_rows);
  // Saves the state here if one is due. Correctness never requires it; it shortens replays.
  void Mark();
  // Elements and errors pulled so far.
  int64_t position() const { return position_; }
  // The stage will not go back before this position.
  void Keep(int64_t low) { trail_.Prune(low); }
  void VisitState(StateVisitor& visitor, int64_t back = 0);
  // Skips steps, see Iterator::Discard.
  std::optional<Error> Discard(int64_t& steps);
  // See Iterator::Pass.
  std::optional<Error> Pass(int64_t& steps);
  // See Iterator::PassSound.
  std::optional<Error> PassSound(int64_t& steps);
  Iterator& iterator() { return *iterator_; }
  // Destroys the iterator once it is no longer pulled, and keeps its state for VisitState.
  void Retire();
  bool retired() const { return !iterator_; }

 private:
  std::optional<Error> Prepare();
  Block Pull(int64_t max_rows);

  IteratorPtr iterator_;
  int64_t position_ = 0;
  int64_t to_discard_ = 0;
  StateTrail trail_;
  MarkClock clock_;
};

}  // namespace penstock
