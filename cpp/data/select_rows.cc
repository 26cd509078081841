// Gathering rows from columns.
#include "data/select_rows.h"

#include <cstring>
#include <string_view>

#include "data/join_items.h"

namespace penstock {
namespace {

// Rows that lie behind one another are copied together.
std::vector<Tensor> RunsOf(const Tensor& column, const std::vector<int64_t>& chosen) {
  std::vector<Tensor> runs;
  for (size_t i = 0; i < chosen.size();) {
    size_t next = i + 1;
    while (next < chosen.size() && chosen[next] == chosen[next - 1] + 1) ++next;
    runs.push_back(column.Rows(chosen[i], static_cast<int64_t>(next - i)));
    i = next;
  }
  return runs;
}

Tensor Selected(const Tensor& column, const std::vector<int64_t>& chosen) {
  Shape shape = column.shape();
  const auto rows = static_cast<size_t>(shape[0]);
  shape[0] = static_cast<int64_t>(chosen.size());
  if (column.storage() == Storage::kDense) {
    const size_t bytes = column.nbytes() / rows;
    Tensor some = Tensor::Make(column.dtype(), shape);
    uint8_t* to = some.mutable_data();
    for (int64_t row : chosen) {
      if (bytes) std::memcpy(to, column.data() + static_cast<size_t>(row) * bytes, bytes);
      to += bytes;
    }
    return some;
  }
  if (column.storage() == Storage::kPacked) {
    const int64_t items = column.elements() / static_cast<int64_t>(rows);
    std::vector<std::string_view> strings;
    strings.reserve(static_cast<size_t>(shape.elements()));
    for (int64_t row : chosen) {
      for (int64_t i = row * items; i < (row + 1) * items; ++i) strings.push_back(column.string(i));
    }
    return Tensor::Strings(column.dtype().code, shape, strings);
  }
  std::vector<Tensor> runs = RunsOf(column, chosen);
  std::vector<const Tensor*> parts;
  for (const Tensor& run : runs) parts.push_back(&run);
  return JoinItems(column.dtype(), shape, parts);
}

}  // namespace

Block SelectRows(Block& rows, const std::vector<int64_t>& chosen) {
  if (chosen.size() == static_cast<size_t>(rows.rows)) return std::move(rows);
  Block some;
  some.structure = rows.structure;
  some.rows = static_cast<int64_t>(chosen.size());
  some.first = rows.origin(chosen[0]);
  if (!rows.stacked()) {
    some.elements.reserve(chosen.size());
    for (int64_t row : chosen) {
      some.elements.push_back(std::move(rows.elements[static_cast<size_t>(row)]));
    }
    return some;
  }
  for (const Tensor& column : rows.columns) some.columns.push_back(Selected(column, chosen));
  const bool places = rows.first.index >= 0 || rows.from_files();
  for (int64_t row : chosen) {
    some.keys.push_back(rows.key(row));
    if (places) some.origins.push_back(rows.origin(row));
  }
  return some;
}

}  // namespace penstock
