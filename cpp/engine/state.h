// Saving and restoring the state of iterators.
#pragma once

#include <cstdint>
#include <deque>

#include "data/state_visitor.h"

namespace penstock {

class Iterator;

// Saves or restores an iterator inside the state of another, with its kind's name as a check.
void VisitChild(StateVisitor& visitor, Iterator& iterator);
// The text that VisitChild saves.
std::string ChildState(Iterator& iterator);
StateBlob SaveState(Iterator& iterator);
void RestoreState(Iterator& iterator, const StateBlob& blob);

// Saved states of an upstream iterator at some of its positions, in order. Any position from the
// lowest one still needed can be reached by replaying from the state before it.
class StateTrail {
 public:
  void Reset(int64_t position, StateBlob blob);
  void Add(int64_t position, StateBlob blob);
  // Positions below `low` are no longer needed.
  void Prune(int64_t low);
  // Drops every second state if there are very many, which happens while others overtake a slow
  // step. Not for a trail that needs a state at every position because steps must not be replayed.
  void Thin();
  // Saves (blob, steps to skip) for `position`. Restores a trail that starts at -skip, so that
  // positions count from 0.
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

// Decides when the next mark is due: saving states may take about 1 % of the time.
class MarkClock {
 public:
  bool Due(int64_t now) const { return now >= due_ns_; }
  StateBlob Take(Iterator& iterator);

 private:
  int64_t due_ns_ = 0;
  // The estimated cost of a mark. It at most doubles from one mark to the next: a single slow mark
  // was probably interrupted, and must not delay the next one a hundred times as long.
  int64_t cost_ns_ = 50'000;
};

}  // namespace penstock
