// The rows that wait in windows, by the result of the key function: where they are in the input,
// and how they are pulled again after a restore.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "engine/input.h"
#include "runtime/cancel.h"

namespace penstock {

// Positions are counted as the Input of the stage counts: from 0, where its state was restored.
class GroupedRows {
 public:
  struct Row {
    int64_t position;
    Element element;  // empty after a restore, until it has been pulled again
  };
  struct Window {
    int64_t key;
    int64_t number;  // among the windows
    std::vector<Row> rows;
  };

  bool empty() const { return groups_.empty(); }
  // Bytes of all rows, those that have moved on not included. Goes through them.
  size_t Footprint() const;
  // Adds a row to the open window of its key, which takes `size` rows; true when that is full.
  bool Add(int64_t key, int64_t size, int64_t position, Element element);
  // How many rows, at least one, may be pulled whatever their keys are, so that only the last of
  // them can fill a window. `least`: the size of the smallest window that there may be.
  int64_t Room(int64_t least);
  // Takes the window of `key` out, or that of the lowest key; its rows belong to the state until
  // it is released. One window at a time.
  Window& Take(int64_t key) { return Take(groups_.find(key)); }
  Window& TakeLowest() { return Take(groups_.begin()); }
  // The keys of the open windows, in the order in which the windows are taken.
  std::vector<int64_t> keys() const;
  Window* taken() { return taken_ ? &*taken_ : nullptr; }
  void Release();

  // The position of the oldest row; `end` when there is none.
  int64_t Low(int64_t end) const { return firsts_.empty() ? end : *firsts_.begin(); }
  // The position that the stage has reached, also while rows are pulled again after a restore.
  int64_t End(int64_t position) const { return std::max(position, refill_until_); }
  // Saves or restores the rows' positions from `low` on; `back`: from there to the end.
  void VisitState(StateVisitor& visitor, int64_t low, int64_t back);
  // After a restore: pulls the rows again and passes over what is between them. Throws an error
  // when the input does not have them any more, and forgets them.
  void Refill(const char* stage, Input& input, const CancelToken& cancel);
  bool refilling() const { return refill_until_ > 0; }

 private:
  struct Group {
    int64_t size;  // of the window
    std::vector<Row> rows;
  };
  using Groups = std::map<int64_t, Group>;  // leftovers come in the order of keys

  Window& Take(Groups::iterator group);
  void Clear();

  Groups groups_;
  std::optional<Window> taken_;
  std::set<int64_t> firsts_;  // of each window, the position of its first row
  int64_t windows_ = 0;       // taken so far
  int64_t lacking_ = 0;       // rows that the fullest window still lacks; 0: not known
  int64_t added_ = 0;         // rows since that was looked up
  int64_t refill_until_ = 0;
  std::vector<Row*> waiting_;  // rows to be pulled again, the last one first
};

}  // namespace penstock
