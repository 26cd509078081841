// Moving rows into and out of blocks, and combining blocks.
#include "data/block.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "data/random.h"

namespace penstock {

namespace {

bool AreOfSameDTypes(const Element& one, const Element& other) {
  return std::ranges::equal(one.leaves, other.leaves, {}, &Tensor::dtype, &Tensor::dtype);
}

}  // namespace

size_t Block::footprint() const {
  size_t bytes = 0;
  for (const Tensor& column : columns) bytes += column.footprint();
  for (auto& element : elements) bytes += element.footprint();
  return bytes;
}

bool Block::ragged() const {
  return std::ranges::any_of(columns, [](const Column& column) { return column.ragged(); });
}

bool Block::from_files() const {
  return origins.from_files() || std::ranges::any_of(elements, [](const Element& element) {
           return element.origin.file != nullptr;
         });
}

void Block::JoinOrigins(Origin& origin, int64_t begin, int64_t count) const {
  if (elements.empty()) return origins.Join(origin, begin, count);
  for (int64_t row = begin; origin.file && row < begin + count; ++row) {
    origin.Join(elements[static_cast<size_t>(row)].origin);
  }
}

bool Block::CanBeAlone() const {
  auto boxed = [](const Tensor& leaf) { return leaf.storage() == Storage::kObjects; };
  if (stacked()) return std::ranges::none_of(columns, boxed);
  return std::ranges::none_of(elements.front().leaves, boxed);
}

std::vector<bool> Block::own_columns() const {
  std::vector<bool> own;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (!columns[i].own()) continue;
    own.resize(columns.size());
    own[i] = true;
  }
  return own;
}

Block Block::Divide(int64_t first, int64_t count, const std::vector<bool>& own) const {
  Block part = Slice(first, count);
  for (size_t i = 0; i < own.size(); ++i) {
    if (own[i]) part.columns[i] = columns[i].Divide(first, count);
  }
  return part;
}

Element Block::Row(int64_t row) const {
  if (!elements.empty()) return elements[static_cast<size_t>(row)];
  Element element;
  element.structure = structure;
  element.leaves.reserve(columns.size());
  for (const Column& column : columns) element.leaves.push_back(column.Row(row));
  element.origin = origins.at(row);
  return element;
}

Block Block::Slice(int64_t begin, int64_t count) const {
  Block slice;
  slice.structure = structure;
  slice.rows = count;
  if (!elements.empty()) {
    slice.elements.assign(elements.begin() + begin, elements.begin() + begin + count);
    return slice;
  }
  slice.origins = origins.Slice(begin, count);
  if (slab) slice.slab = {slab.slab, slab.first + begin};
  slice.columns.reserve(columns.size());
  for (const Column& column : columns) slice.columns.push_back(column.Slice(begin, count));
  return slice;
}

Block Block::SliceApart(int64_t first, int64_t count) const {
  const std::vector<bool> own = own_columns();  // before Slice adds references to all of them
  std::vector<std::vector<bool>> lone;
  if (!stacked()) {
    for (int64_t row = first; row < first + count; ++row) {
      std::vector<bool>& leaves = lone.emplace_back();
      for (const Tensor& leaf : elements[static_cast<size_t>(row)].leaves) {
        leaves.push_back(leaf.shape().rank() > 0 && !leaf.dtype().is_reference() && leaf.buffer() &&
                         leaf.buffer()->unique());
      }
    }
  }
  Block slice = Slice(first, count);
  for (size_t i = 0; i < own.size(); ++i) {
    if (own[i]) slice.columns[i].items = slice.columns[i].items.Alone();
  }
  for (size_t row = 0; row < lone.size(); ++row) {
    std::vector<Tensor>& leaves = slice.elements[row].leaves;
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (!lone[row][i]) continue;
      Tensor copy = Tensor::Make(leaves[i].dtype(), leaves[i].shape());
      std::memcpy(copy.mutable_data(), leaves[i].data(), copy.nbytes());
      leaves[i] = std::move(copy);
    }
  }
  return slice;
}

void Block::BecomeConstant() {
  slab = {};  // otherwise a batch would use this memory
  for (Column& column : columns) {
    if (column.rank() > 0) column.items.BecomeConstant();
  }
  for (Element& element : elements) {
    for (Tensor& leaf : element.leaves) leaf.BecomeConstant();
  }
}

Block Block::Take(const std::vector<int64_t>& chosen) {
  Block taken;
  if (chosen.empty()) return taken;
  if (chosen.size() == static_cast<size_t>(rows)) {
    taken = std::move(*this);
    error = std::exchange(taken.error, std::nullopt);
    end = std::exchange(taken.end, false);
    return taken;
  }
  taken.structure = structure;
  taken.rows = static_cast<int64_t>(chosen.size());
  if (stacked()) {
    for (const Column& column : columns) taken.columns.push_back(column.Take(chosen));
    taken.origins = origins.Take(chosen);
    return taken;
  }
  taken.elements.reserve(chosen.size());
  for (int64_t row : chosen) {
    taken.elements.push_back(std::move(elements[static_cast<size_t>(row)]));
  }
  return taken;
}

void Block::Separate() {
  if (!stacked()) return;
  const std::vector<bool> own = rows > 1 ? own_columns() : std::vector<bool>();
  std::vector<Element> separate;
  separate.reserve(static_cast<size_t>(rows));
  for (int64_t row = 0; row < rows; ++row) {
    Element& element = separate.emplace_back(Row(row));
    for (size_t i = 0; i < own.size(); ++i) {
      if (own[i]) element.leaves[i] = columns[i].Divide(row, 1).Row(0);
    }
  }
  elements = std::move(separate);
  columns.clear();
  slab = {};
}

bool Block::Concat(Block& next) {
  if (last()) return false;
  if (next.rows > 0) {
    if (rows == 0 || structure != next.structure) return false;
    if (elements.empty()) {
      if (!next.slab.Follow(slab, rows)) return false;
      for (const Tensor& column : columns) {
        if (column.dtype().is_reference()) return false;
      }
      for (int64_t i = 0; i < next.rows; ++i) origins.Add(rows + i, next.origins, i);
      for (Column& column : columns) column = column.Slice(0, rows + next.rows);
    } else {
      if (next.elements.empty() || !AreOfSameDTypes(elements.back(), next.elements.front())) {
        return false;
      }
      elements.insert(elements.end(), std::make_move_iterator(next.elements.begin()),
                      std::make_move_iterator(next.elements.end()));
    }
    rows += next.rows;
  }
  error = std::move(next.error);
  end = next.end;
  return true;
}

void Block::Renumber(int64_t first) {
  auto key = static_cast<uint64_t>(first);
  origins.first.key = key;
  origins.keys.clear();
  for (Element& element : elements) element.origin.key = key++;
}

void Block::BecomeChildren(uint64_t parent, int64_t& given) {
  if (rows == 0) return;
  for (Element& element : elements) {
    element.origin.key = ChildKey(parent, static_cast<uint64_t>(given++));
  }
  if (!elements.empty()) return;
  origins.keys.resize(static_cast<size_t>(rows));
  for (uint64_t& key : origins.keys) key = ChildKey(parent, static_cast<uint64_t>(given++));
}

Block Block::Of(Element element) {
  Block block;
  block.structure = element.structure;
  block.rows = 1;
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
