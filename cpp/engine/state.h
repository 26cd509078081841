// Saves and restores the state of iterators.
#pragma once

#include <cstdint>
#include <deque>

#include "data/state_visitor.h"

namespace penstock {

class Iterator;

// Saves or restores an iterator inside the state of another, guarded by the name of its kind.
void VisitChild(StateVisitor& visitor, Iterator& iterator);
// The text that VisitChild saves.
std::string ChildState(Iterator& iterator);
StateBlob SaveState(Iterator& iterator);
void RestoreState(Iterator& iterator, const StateBlob& blob);

// States of an upstream iterator at some of its positions, in order: enough to go back to any
// position from the lowest one still asked for, by replaying from the state before it.
class StateTrail {
 public:
  void Reset(int64_t position, StateBlob blob);
  void Add(int64_t position, StateBlob blob);
  // Positions below `low` will not be asked for again.
  void Prune(int64_t low);
  // Drops every other one when there are very many, as there are while others overtake a step that
  // takes long. Not for a trail with a state at every position that must not be replayed.
  void Thin();
  // Saves (blob, steps to skip) for `position`; restores into a trail at -skip, positions from 0.
  void VisitState(StateVisitor& visitor, int64_t position);

  const StateBlob& front_blob() const { return marks_.front().blob; }
  int64_t front_position() const { return marks_.front().position; }

 private:
  struct Mark {
    int64_t position;
    StateBlob blob;
  };
  std::deque<Mark> marks_{{0, nullptr}};
};

// Says when another mark is due: saving states may cost about 1 % of the time.
class MarkClock {
 public:
  bool Due(int64_t now) const { return now >= due_ns_; }
  StateBlob Take(Iterator& iterator);

 private:
  int64_t due_ns_ = 0;
  // What one mark costs. The estimate at most doubles from one mark to the next: a single mark that
  // took long was interrupted, and must not delay the next one a hundred times as long.
  int64_t cost_ns_ = 50'000;
};

}  // namespace penstock
