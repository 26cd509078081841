// Looking up origins of rows, and storing those that do not follow from the first.
#include "data/origin.h"

#include <algorithm>

namespace penstock {
namespace {

// Grows the vector to hold `count` items; reserves more than needed when it reallocates.
template <typename T>
void Grow(std::vector<T>& items, size_t count) {
  if (items.capacity() < count) items.reserve(std::max(count, 2 * items.capacity()));
}

template <typename T>
std::vector<T> SliceOf(const std::vector<T>& items, int64_t begin, int64_t count) {
  if (items.empty()) return {};
  return {items.begin() + begin, items.begin() + begin + count};
}

}  // namespace

RowOrigins RowOrigins::From(int64_t number) {
  RowOrigins origins;
  origins.first.key = static_cast<uint64_t>(number);
  origins.first.index = number;
  return origins;
}

Origin RowOrigins::at(int64_t row) const {
  Origin origin = each.empty() ? first : each[static_cast<size_t>(row)];
  origin.key = key(row);
  if (row > 0 && each.empty()) {
    origin.index = index(row);
    origin.offset = offsets.empty() ? -1 : offsets[static_cast<size_t>(row)];
  }
  return origin;
}

bool RowOrigins::from_files() const {
  return first.file || std::ranges::any_of(each, [](const Origin& o) { return o.file != nullptr; });
}

void RowOrigins::Join(Origin& origin, int64_t begin, int64_t count) const {
  if (each.empty()) return origin.Join(first);
  for (int64_t row = begin; origin.file && row < begin + count; ++row) {
    origin.Join(each[static_cast<size_t>(row)]);
  }
}

RowOrigins RowOrigins::Slice(int64_t begin, int64_t count) const {
  return {at(begin), SliceOf(keys, begin, count), SliceOf(offsets, begin, count),
          SliceOf(each, begin, count)};
}

RowOrigins RowOrigins::Take(const std::vector<int64_t>& rows) const {
  RowOrigins taken;
  if (rows.empty()) return taken;
  taken.first = at(rows.front());
  const bool known = first.index >= 0 || from_files();
  taken.keys.reserve(rows.size());
  if (known) taken.each.reserve(rows.size());
  for (int64_t row : rows) {
    taken.keys.push_back(key(row));
    if (known) taken.each.push_back(at(row));
  }
  return taken;
}

void RowOrigins::Write(int64_t row, Origin origin) {
  if (row == 0) {
    first = std::move(origin);
    return;
  }
  // Allocate everything first: either the row is stored, or nothing changes.
  const auto rows = static_cast<size_t>(row) + 1;
  const bool keyed = !keys.empty() || origin.key != first.key + static_cast<uint64_t>(row);
  const int64_t next = first.index < 0 ? -1 : first.index + row;
  const bool listed = !each.empty() || first.file || origin.file || origin.index != next;
  if (keyed) Grow(keys, rows);
  if (listed) Grow(each, rows);
  if (keyed) {
    for (auto i = static_cast<int64_t>(keys.size()); i < row; ++i) {
      keys.push_back(first.key + static_cast<uint64_t>(i));
    }
    keys.push_back(origin.key);
  }
  if (!listed) return;
  for (auto i = static_cast<int64_t>(each.size()); i < row; ++i) {
    each.push_back(first);
    if (first.index >= 0) each.back().index += i;
  }
  each.push_back(std::move(origin));
}

}  // namespace penstock
