// Rows waiting in windows, grouped by key: their positions in the input, and how they are pulled
// again after a restore.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "engine/input.h"
#include "runtime/cancel.h"

namespace penstock {

// Positions count like the stage's Input: from 0, where its state was restored.
class GroupedRows {
 public:
  struct Row {
    int64_t position;
    Element element;  // empty after a restore until pulled again
  };
  struct Window {
    int64_t key;
    int64_t number;  // index among all windows
    std::vector<Row> rows;
  };

  bool empty() const { return groups_.empty(); }
  // Bytes of all waiting rows, without those already released. Iterates over all rows.
  size_t Footprint() const;
  // Adds a row to the open window of its key, which holds `size` rows. Returns whether the window
  // is full.
  bool Add(int64_t key, int64_t size, int64_t position, Element element);
  // The number of rows, at least one, that can be pulled such that, for any keys, only the last one
  // can fill a window. `least`: the minimum window size.
  int64_t Room(int64_t least);
  // Removes the window of `key`, or of the lowest key. Its rows remain in the state until it is
  // released. One window at a time.
  Window& Take(int64_t key) { return Take(groups_.find(key)); }
  Window& TakeLowest() { return Take(groups_.begin()); }
  // The keys of the open windows, in the order in which they are taken.
  std::vector<int64_t> keys() const;
  Window* taken() { return taken_ ? &*taken_ : nullptr; }
  void Release();

  // The position of the oldest row; `end` if there is none.
  int64_t Low(int64_t end) const { return firsts_.empty() ? end : *firsts_.begin(); }
  // The stage's position, also while rows are pulled again after a restore.
  int64_t End(int64_t position) const { return std::max(position, refill_until_); }
  // Saves or restores the positions of the rows from `low` on; `back`: the number of steps from
  // there to the end.
  void VisitState(StateVisitor& visitor, int64_t low, int64_t back);
  // After a restore: pulls the rows again and skips the steps between them. If the input no longer
  // has them, throws an error and forgets them.
  void Refill(const char* stage, Input& input, const CancelToken& cancel);
  bool refilling() const { return refill_until_ > 0; }

 private:
  struct Group {
    int64_t size;  // of the window
    std::vector<Row> rows;
  };
  using Groups = std::map<int64_t, Group>;  // the rest is delivered in key order

  Window& Take(Groups::iterator group);
  void Clear();

  Groups groups_;
  std::optional<Window> taken_;
  std::set<int64_t> firsts_;  // the position of the first row of each window
  int64_t windows_ = 0;       // taken so far
  int64_t lacking_ = 0;       // rows missing in the fullest window; 0: unknown
  int64_t added_ = 0;         // rows added since then
  int64_t refill_until_ = 0;
  std::vector<Row*> waiting_;  // rows to pull again, in reverse order
};

}  // namespace penstock
