// Pulling rows, computing their keys, and returning them individually.
#include "stages/group/keyed_rows.h"

#include <utility>

namespace penstock {

bool KeyedRows::Pull(int64_t max_rows) {
  if (rows_.failed()) throw rows_.TakeError();
  if (rows_.ended()) return false;
  keys_.clear();
  rows_.Pull(max_rows);
  return true;
}

int64_t KeyedRows::Key(const CallInfo& first) {
  const int64_t next = rows_.next();
  if (static_cast<size_t>(next) == keys_.size()) {
    CallInfo info = first;
    info.index += rows_.position() - next;
    CallForInts(*key_, what_, rows_.block(), next, info, keys_);
  }
  IntOrError& key = keys_[static_cast<size_t>(next)];
  if (auto* error = std::get_if<Error>(&key)) {
    LeaveOut();
    throw std::move(*error);
  }
  return std::get<int64_t>(key);
}

Element KeyedRows::Take() {
  const bool shared = rows_.block().stacked() && rows_.block().rows > 1;
  Element element = rows_.Take();
  if (shared) element.KeepAlone();
  return element;
}

}  // namespace penstock
