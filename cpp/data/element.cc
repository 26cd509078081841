// Elements in and out of blocks.
#include "data/element.h"

#include <algorithm>

namespace penstock {

size_t Element::footprint() const {
  size_t bytes = 0;
  for (auto& leaf : leaves) bytes += leaf.footprint();
  return bytes;
}

uint64_t Block::key(int64_t row) const {
  if (!elements.empty()) return elements[row].origin.key;
  return keys.empty() ? first.key + static_cast<uint64_t>(row) : keys[row];
}

int64_t Block::index(int64_t row) const {
  if (!elements.empty()) return elements[row].origin.index;
  if (!origins.empty()) return origins[row].index;
  return first.index < 0 ? -1 : first.index + row;
}

Origin Block::origin(int64_t row) const {
  if (!elements.empty()) return elements[row].origin;
  Origin origin = origins.empty() ? first : origins[row];
  origin.key = key(row);
  if (row > 0 && origins.empty()) {
    origin.index = index(row);
    origin.offset = offsets.empty() ? -1 : offsets[static_cast<size_t>(row)];
  }
  return origin;
}

bool Block::from_files() const {
  auto from_file = [](const Origin& origin) { return origin.file != nullptr; };
  return from_file(first) || std::any_of(origins.begin(), origins.end(), from_file) ||
         std::any_of(elements.begin(), elements.end(),
                     [&](const Element& element) { return from_file(element.origin); });
}

Element Block::Row(int64_t row) const {
  if (!elements.empty()) return elements[row];
  Element element;
  element.structure = structure;
  element.leaves.reserve(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    if (!ragged() || splits[i].empty()) {
      element.leaves.push_back(columns[i].Row(row));
    } else {
      int64_t begin = splits[i][static_cast<size_t>(row)];
      element.leaves.push_back(
          columns[i].Rows(begin, splits[i][static_cast<size_t>(row) + 1] - begin));
    }
  }
  element.origin = origin(row);
  return element;
}

Block Block::Part(int64_t begin, int64_t count) const {
  Block part;
  part.structure = structure;
  part.rows = count;
  part.first = origin(begin);
  if (elements.empty()) {
    for (size_t i = 0; i < columns.size(); ++i) {
      bool whole = ragged() && !splits[i].empty();
      part.columns.push_back(whole ? columns[i] : columns[i].Rows(begin, count));
    }
    for (const std::vector<int64_t>& ends : splits) {
      part.splits.emplace_back();
      if (!ends.empty())
        part.splits.back().assign(ends.begin() + begin, ends.begin() + begin + count + 1);
    }
    if (!keys.empty()) part.keys.assign(keys.begin() + begin, keys.begin() + begin + count);
    if (!offsets.empty()) {
      part.offsets.assign(offsets.begin() + begin, offsets.begin() + begin + count);
    }
    if (!origins.empty()) {
      part.origins.assign(origins.begin() + begin, origins.begin() + begin + count);
    }
  } else {
    part.elements.assign(elements.begin() + begin, elements.begin() + begin + count);
  }
  return part;
}

size_t Block::footprint() const {
  size_t bytes = 0;
  for (auto& column : columns) bytes += column.footprint();
  for (auto& element : elements) bytes += element.footprint();
  return bytes;
}

Block Block::Of(Element element) {
  Block block;
  block.structure = element.structure;
  block.rows = 1;
  block.first = element.origin;
  block.elements.push_back(std::move(element));
  return block;
}

Block Block::Of(Error error) {
  Block block;
  block.error = std::move(error);
  return block;
}

Block Block::AtEnd() {
  Block block;
  block.end = true;
  return block;
}

Block Block::Of(Step step) {
  if (auto* element = std::get_if<Element>(&step)) return Of(std::move(*element));
  if (auto* error = std::get_if<Error>(&step)) return Of(std::move(*error));
  return AtEnd();
}

Step Block::ToStep() && {
  if (rows > 0) return elements.empty() ? Row(0) : std::move(elements[0]);
  if (error) return std::move(*error);
  return End{};
}

}  // namespace penstock
