// Saves and restores the state of iterators: one visit in both directions, so they cannot disagree.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

class Iterator;
using StateBlob = std::shared_ptr<const std::string>;  // null: a fresh iterator

class StateVisitor {
 public:
  explicit StateVisitor(std::string* out) : out_(out) {}
  // What it reads may be forged. `stage`: whose it is, for errors.
  explicit StateVisitor(std::string_view in, std::string_view stage = {})
      : in_(in), stage_(stage) {}

  bool saving() const { return out_ != nullptr; }
  void Int(int64_t& value);
  void UInt(uint64_t& value);
  void Bool(bool& value);
  void Text(std::string& value);
  void Ints(std::vector<int64_t>& values);
  void UInts(std::vector<uint64_t>& values);
  void Blob(StateBlob& blob);
  // The state of an iterator, guarded by the name of its kind.
  void Child(Iterator& iterator);
  void ExpectEnd() const;
  // The same within bounds, which hold when it is saved; else the state is damaged, and the error
  // says so of `what`.
  void IntIn(int64_t& value, int64_t least, int64_t most, std::string_view what);
  void IntsIn(std::vector<int64_t>& values, int64_t least, int64_t most, std::string_view what);
  // A number of steps, elements or runs: from 0 to so many that sums of some cannot overflow.
  void Count(int64_t& value, std::string_view what, int64_t most = kMostCount);
  static constexpr int64_t kMostCount = int64_t{1} << 60;
  // Of what has been read: `what` must be so.
  void Demand(bool good, std::string_view what) const {
    if (!good) ThrowDamaged(stage_, what);
  }
  [[noreturn]] static void ThrowDamaged(std::string_view stage, std::string_view what);

 private:
  void PutVarint(uint64_t value);
  uint64_t GetVarint();
  // What Text has written, where it lies.
  std::string_view GetText();
  static void RestoreChild(std::string_view saved, Iterator& iterator);

  std::string* out_ = nullptr;
  std::string_view in_;
  std::string_view stage_;
};

// Counts that come from states stay where they can still be added to, whatever they are added up
// of.
constexpr int64_t StepsMore(int64_t count, int64_t steps) {
  constexpr int64_t kMost = 2 * StateVisitor::kMostCount;
  return steps < kMost - count ? count + steps : kMost;
}

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
  // Drops every other one when there are very many, as behind a step that takes long while others
  // overtake it. Not for a trail with a state at every position that must not be replayed.
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
  bool Due();
  StateBlob Take(Iterator& iterator);

 private:
  int64_t due_ns_ = 0;
  // What one costs. It may double from one to the next, no more: a single one that took long was
  // interrupted, and the next must not wait a hundred times as long.
  int64_t cost_ns_ = 50'000;
};

}  // namespace penstock
