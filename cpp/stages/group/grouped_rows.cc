// Moving rows into and out of windows, and their positions into and out of states.
#include "stages/group/grouped_rows.h"

#include <algorithm>
#include <limits>

namespace penstock {
namespace {

void PassOver(Input& input, int64_t until) {
  int64_t steps = until - input.position();
  if (steps <= 0) return;
  if (auto error = input.Discard(steps)) throw *std::move(error);
}

}  // namespace

bool GroupedRows::Add(int64_t key, int64_t size, int64_t position, Element element) {
  Group& group = groups_[key];
  if (group.rows.empty()) {
    group.size = size;
    firsts_.insert(position);
  }
  group.rows.push_back({position, std::move(element)});
  ++added_;
  int64_t lacking = group.size - static_cast<int64_t>(group.rows.size());
  lacking_ = std::min(lacking_, lacking);
  return lacking <= 0;
}

int64_t GroupedRows::Room(int64_t least) {
  if (lacking_ <= 0) {
    // Iterating over many keys takes longer than pulling rows individually for a while.
    if (added_ < static_cast<int64_t>(groups_.size())) return 1;
    added_ = 0;
    lacking_ = std::numeric_limits<int64_t>::max();
    for (auto& [key, group] : groups_) {
      lacking_ = std::min(lacking_, group.size - static_cast<int64_t>(group.rows.size()));
    }
  }
  return std::min(lacking_, least);
}

size_t GroupedRows::Footprint() const {
  size_t bytes = 0;
  const auto add = [&bytes](const std::vector<Row>& rows) {
    for (const Row& row : rows) bytes += row.element.footprint();
  };
  for (const auto& [key, group] : groups_) add(group.rows);
  if (taken_) add(taken_->rows);
  return bytes;
}

GroupedRows::Window& GroupedRows::Take(Groups::iterator group) {
  taken_.emplace(Window{group->first, windows_++, std::move(group->second.rows)});
  groups_.erase(group);
  lacking_ = 0;
  return *taken_;
}

void GroupedRows::Release() {
  firsts_.erase(taken_->rows.front().position);
  taken_.reset();
}

void GroupedRows::Clear() {
  groups_.clear();
  taken_.reset();
  firsts_.clear();
  waiting_.clear();
  refill_until_ = 0;
}

void GroupedRows::VisitState(StateVisitor& visitor, int64_t low, int64_t back) {
  bool taken = taken_.has_value();
  visitor.Count(back, "steps to be pulled again");
  visitor.Count(windows_, "windows taken");
  visitor.Bool(taken);
  std::vector<int64_t> keys, sizes, counts, positions;
  auto add = [&](int64_t key, int64_t size, const std::vector<Row>& rows) {
    keys.push_back(key);
    sizes.push_back(size);
    counts.push_back(static_cast<int64_t>(rows.size()));
    for (const Row& row : rows) positions.push_back(row.position - low);
  };
  if (taken_) add(taken_->key, taken_->number, taken_->rows);
  for (auto& [key, group] : groups_) add(key, group.size, group.rows);
  for (auto* values : {&keys, &sizes, &counts, &positions}) visitor.Ints(*values);
  if (visitor.saving()) return;
  auto demand = [&visitor](bool good) {
    visitor.Demand(good, "rows that wait must be in windows, and pulled again");
  };
  demand(sizes.size() == keys.size() && counts.size() == keys.size());
  demand(!keys.empty() || (!taken && back == 0));
  refill_until_ = back;
  auto position = positions.begin();
  for (size_t i = 0; i < keys.size(); ++i) {
    demand(counts[i] >= 1 && counts[i] <= positions.end() - position);
    std::vector<Row> rows;
    int64_t last = -1;
    for (int64_t row = 0; row < counts[i]; ++row, ++position) {
      demand(*position > last && *position < back);
      rows.push_back({last = *position, {}});
    }
    demand(firsts_.insert(rows.front().position).second);
    if (taken && i == 0) {
      demand(sizes[i] >= 0 && sizes[i] < windows_);
      taken_.emplace(Window{keys[i], sizes[i], std::move(rows)});
      continue;
    }
    demand(sizes[i] > counts[i]);
    demand(groups_.try_emplace(keys[i], Group{sizes[i], std::move(rows)}).second);
  }
  demand(position == positions.end());
  // Pointers into windows, which do not change until all are refilled.
  if (taken_)
    for (Row& row : taken_->rows) waiting_.push_back(&row);
  for (auto& [key, group] : groups_)
    for (Row& row : group.rows) waiting_.push_back(&row);
  std::sort(waiting_.begin(), waiting_.end(),
            [](const Row* a, const Row* b) { return a->position > b->position; });
  for (size_t i = 1; i < waiting_.size(); ++i) {
    demand(waiting_[i - 1]->position > waiting_[i]->position);
  }
}

std::vector<int64_t> GroupedRows::keys() const {
  std::vector<int64_t> keys;
  if (taken_) keys.push_back(taken_->key);
  for (auto& [key, group] : groups_) keys.push_back(key);
  return keys;
}

void GroupedRows::Refill(const char* stage, Input& input, const CancelToken& cancel) {
  while (!waiting_.empty()) {
    if (cancel.cancelled()) throw Error(ErrorKind::kCancelled, "");
    PassOver(input, waiting_.back()->position);
    Step step = input.Next();
    auto* error = std::get_if<Error>(&step);
    if (error && error->transient()) throw *std::move(error);
    auto* element = std::get_if<Element>(&step);
    if (!element) {
      Clear();
      throw Error(ErrorKind::kRuntime,
                  "{}: the input has other elements than when the state was saved",
                  std::string_view(stage));
    }
    waiting_.back()->element = std::move(*element);
    waiting_.pop_back();
  }
  PassOver(input, refill_until_);
  refill_until_ = 0;
}

}  // namespace penstock
