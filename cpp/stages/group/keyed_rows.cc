// Pulling rows, asking for their keys, and handing them out one by one.
#include "stages/group/keyed_rows.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace penstock {

bool KeyedRows::Pull(int64_t max_rows) {
  if (rows_.error) throw *std::exchange(rows_.error, std::nullopt);
  if (rows_.end) return false;
  pulled_at_ = input_.position();
  next_ = 0;
  keys_.clear();
  rows_ = input_.NextRows(std::min(max_rows, together_));
  together_ = rows_.CanBeAlone() ? std::numeric_limits<int64_t>::max() : 1;
  return true;
}

int64_t KeyedRows::Key(const CallInfo& first) {
  if (static_cast<size_t>(next_) == keys_.size()) {
    CallInfo info = first;
    info.index += pulled_at_;
    CallForInts(*key_, what_, rows_, next_, info, keys_);
  }
  IntOrError& key = keys_[static_cast<size_t>(next_)];
  if (auto* error = std::get_if<Error>(&key)) {
    LeaveOut();
    throw std::move(*error);
  }
  return std::get<int64_t>(key);
}

Element KeyedRows::Take() {
  int64_t row = next_++;
  if (!rows_.stacked()) return std::move(rows_.elements[static_cast<size_t>(row)]);
  Element element = rows_.Row(row);
  if (rows_.rows > 1) element.KeepAlone();
  return element;
}

}  // namespace penstock
