// How a stage pulls its input when it may have to say where it was some steps ago.
#pragma once

#include "engine/iterator.h"

namespace penstock {

// Counts the steps pulled and keeps enough past states to save any position from Keep's on: a stage
// that holds pulled elements it has not delivered (a batch half full, a shuffle buffer, a block
// handed out row by row) saves its input as of `back` steps ago and pulls them again.
class Input {
 public:
  explicit Input(IteratorPtr iterator) : iterator_(std::move(iterator)) {}

  Step Next();
  // Marks the position first when more than one row is asked for, because the stage may emit only
  // some of the rows.
  Block NextBlock(int64_t max_rows);
  // The same for a stage that marks where it wants to.
  Block NextRows(int64_t max_rows);
  // Remembers the state here, when that is due; never needed for correctness, it shortens replays.
  void Mark();
  // Elements and errors pulled so far.
  int64_t position() const { return position_; }
  // The stage will not go back before this position.
  void Keep(int64_t low) { trail_.Prune(low); }
  void VisitState(StateVisitor& visitor, int64_t back = 0);
  // Passes over steps, as Iterator::Discard.
  std::optional<Error> Discard(int64_t& steps);
  // As Iterator::Pass.
  std::optional<Error> Pass(int64_t& steps);
  // As Iterator::PassSound.
  std::optional<Error> PassSound(int64_t& steps);
  Iterator& iterator() { return *iterator_; }
  // Destroys the iterator, of which nothing more is wanted, and keeps what states need of it.
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
