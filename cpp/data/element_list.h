// Many elements in memory, accessed by index.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/block.h"
#include "data/spec.h"

namespace penstock {

// Small elements of one form are stored as columns, one group at a time, because an Element needs
// about 400 bytes around its leaves. Other elements are stored unchanged.
class ElementList {
 public:
  using Kept = std::shared_ptr<const Element>;
  struct Group {
    Block columns;               // without origins
    std::vector<Kept> elements;  // empty if the rows are columns

    int64_t rows() const {
      return elements.empty() ? columns.rows : static_cast<int64_t>(elements.size());
    }
    bool packed() const { return elements.empty(); }
    Element Row(int64_t row) const {
      return packed() ? columns.Row(row) : *elements[static_cast<size_t>(row)];
    }
  };

  // Adds the next element. Empty lists adopt the form of the other elements.
  void Add(Kept element);
  // Call after the last element.
  void Finish();

  int64_t size() const { return size_; }
  // Rows per group, except the last one.
  static constexpr int64_t kTogether = 256;
  std::vector<Group>& groups() { return groups_; }
  const std::vector<Group>& groups() const { return groups_; }
  const Group& GroupOf(int64_t element) const {
    return groups_[static_cast<size_t>(element / kTogether)];
  }
  Element At(int64_t element) const { return GroupOf(element).Row(element % kTogether); }

 private:
  void FitEmptyLists(Kept& element);
  // Converts a leaf of all previous elements, which are empty lists, to this form.
  void FitBefore(size_t leaf, const LeafSpec& form);

  ElementSpec first_;  // of the first element; empty lists have the form of a later one
  std::vector<Group> groups_;
  std::vector<Kept> last_;  // a group that is not full yet
  int64_t size_ = 0;
};

}  // namespace penstock
