// Building columns from elements.
#include "data/element_list.h"

#include <optional>
#include <utility>

#include "data/empty_list.h"

namespace penstock {
namespace {

constexpr size_t kSmall = 2 << 10;  // maximum average bytes of elements that are copied

// Returns small elements as columns, if their form allows it.
std::optional<Block> Packed(const std::vector<ElementList::Kept>& elements) {
  size_t bytes = 0;
  for (const auto& element : elements) {
    if (element->structure != elements[0]->structure) return std::nullopt;
    bytes += element->footprint();
  }
  if (bytes > kSmall * elements.size()) return std::nullopt;
  Block block;
  block.structure = elements[0]->structure;
  block.rows = static_cast<int64_t>(elements.size());
  std::vector<const Tensor*> rows(elements.size());
  for (size_t leaf = 0; leaf < elements[0]->leaves.size(); ++leaf) {
    if (elements[0]->leaves[leaf].shape().rank() == kMaxRank) return std::nullopt;
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = &elements[i]->leaves[leaf];
    std::optional<Column> column = Column::Of(rows);
    if (!column) return std::nullopt;
    block.columns.push_back(*std::move(column));
  }
  return block;
}

// Replaces a leaf of the element by an empty row of this form.
void Replace(ElementList::Kept& element, size_t leaf, const LeafSpec& form) {
  auto fitted = std::make_shared<Element>(*element);
  fitted->leaves[leaf] = EmptyRows(1, form).Row(0);
  element = std::move(fitted);
}

}  // namespace

void ElementList::FitEmptyLists(Kept& element) {
  if (size_ == 0) {
    first_ = ElementSpec::Of(*element);
    return;
  }
  if (element->structure != first_.structure) return;
  for (size_t i = 0; i < first_.leaves.size(); ++i) {
    LeafSpec& form = first_.leaves[i];
    const LeafSpec own{element->leaves[i].dtype(), element->leaves[i].shape()};
    if (IsEmptyList(own)) {
      if (CanAdopt(form)) Replace(element, i, form);
    } else if (IsEmptyList(form) && CanAdopt(own)) {
      FitBefore(i, own);
      form = own;
    }
  }
}

void ElementList::FitBefore(size_t leaf, const LeafSpec& form) {
  for (Group& group : groups_) {
    if (group.packed()) group.columns.columns[leaf] = EmptyRows(group.rows(), form);
    for (Kept& element : group.elements) Replace(element, leaf, form);
  }
  for (Kept& element : last_) Replace(element, leaf, form);
}

void ElementList::Add(Kept element) {
  FitEmptyLists(element);
  last_.push_back(std::move(element));
  ++size_;
  if (static_cast<int64_t>(last_.size()) == kTogether) Finish();
}

void ElementList::Finish() {
  if (last_.empty()) return;
  if (std::optional<Block> columns = Packed(last_)) {
    groups_.push_back({*std::move(columns), {}});
    last_.clear();
  } else {
    groups_.push_back({{}, std::exchange(last_, {})});
  }
}

}  // namespace penstock
