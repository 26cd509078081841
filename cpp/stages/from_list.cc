// from_list: elements in memory, perhaps of different shapes, with random access.
#include <algorithm>
#include <optional>
#include <string>

#include "data/element_list.h"
#include "engine/registry.h"

namespace penstock {
namespace {

// The elements as ragged columns.
class RaggedList final : public Indexed {
 public:
  RaggedList(const ElementList& elements, const ElementSpec& spec)
      : elements_(elements), spec_(spec) {}

  // Whether all elements are columns of numbers that differ only in the size of their first axis.
  static bool Fits(const ElementList& elements, const ElementSpec& spec) {
    for (const LeafSpec& leaf : spec.leaves) {
      if (leaf.any_rank || leaf.dtype.is_reference()) return false;
      for (int d = 1; d < leaf.shape.rank(); ++d) {
        if (leaf.shape[d] < 0) return false;
      }
    }
    return std::ranges::all_of(elements.groups(), &ElementList::Group::packed) &&
           std::ranges::any_of(spec.leaves, DiffersInSize);
  }

  int64_t size() const override { return elements_.size(); }
  Block Rows(int64_t first, int64_t count) const override {
    const Block& columns = elements_.GroupOf(first).columns;
    const int64_t begin = first % ElementList::kTogether;
    Block block = columns.Slice(begin, std::min(count, columns.rows - begin));
    block.structure = spec_.structure;
    block.origins = RowOrigins::From(first);
    return block;
  }
  Block Gather(const int64_t* indices, int64_t count) const override {
    Block block;
    block.structure = spec_.structure;
    block.rows = count;
    std::vector<Tensor> rows(static_cast<size_t>(count));
    std::vector<const Tensor*> leaves;
    for (const Tensor& row : rows) leaves.push_back(&row);
    for (size_t leaf = 0; leaf < spec_.leaves.size(); ++leaf) {
      for (int64_t i = 0; i < count; ++i) {
        const Block& columns = elements_.GroupOf(indices[i]).columns;
        rows[static_cast<size_t>(i)] =
            columns.columns[leaf].Row(indices[i] % ElementList::kTogether);
      }
      block.columns.push_back(*Column::Of(leaves));
    }
    block.origins.first = Origin();
    block.origins.keys.assign(indices, indices + count);
    return block;
  }

 private:
  static bool DiffersInSize(const LeafSpec& leaf) {
    return leaf.shape.rank() > 0 && leaf.shape[0] < 0;
  }

  const ElementList& elements_;
  const ElementSpec& spec_;
};

// Returns a columnar source if all elements are columns of one shape; otherwise null.
DatasetPtr AsColumns(const ElementList& elements, const ElementSpec& spec) {
  if (!std::ranges::all_of(elements.groups(), &ElementList::Group::packed)) return nullptr;
  Element all;
  all.structure = spec.structure;
  for (size_t i = 0; i < spec.leaves.size(); ++i) {
    const LeafSpec& leaf = spec.leaves[i];
    const auto dims = leaf.shape.dims();
    if (leaf.any_rank || std::ranges::any_of(dims, [](int64_t d) { return d < 0; })) return nullptr;
    std::vector<const Tensor*> parts;
    for (const auto& group : elements.groups()) parts.push_back(&group.columns.columns[i].items);
    all.leaves.push_back(Tensor::Concat(leaf.dtype, leaf.shape.Prepend(elements.size()), parts));
  }
  if (all.leaves.empty()) return nullptr;
  Args args("from_list");
  args.Set("tensors", std::make_shared<const Element>(std::move(all)));
  return MakeDataset("from_tensor_slices", {}, args);
}

class ListDataset final : public Dataset, public Indexed {
 public:
  explicit ListDataset(ElementList elements) : elements_(std::move(elements)) {
    size_ = elements_.size();
    spec_ = ElementSpec::Of(elements_.At(0));
    const std::string expected = spec_.ToString();
    int64_t first = 0;
    for (ElementList::Group& group : elements_.groups()) {
      if (group.packed()) {
        Cover(SpecOf(group.columns), first, expected);
        if (group.columns.structure != spec_.structure) Separate(group);
      }
      for (size_t i = 0; i < group.elements.size(); ++i) {
        ElementList::Kept& element = group.elements[i];
        const ElementSpec spec = ElementSpec::Of(*element);
        Cover(spec, first + static_cast<int64_t>(i), expected);
        if (spec.structure != spec_.structure) element = Reordered(*element);
      }
      first += group.rows();
    }
    columns_ = AsColumns(elements_, spec_);
    if (columns_) {
      elements_ = {};
    } else if (RaggedList::Fits(elements_, spec_)) {
      ragged_.emplace(elements_, spec_);
    }
  }
  int64_t cardinality() const override { return size_; }
  MaybeSpec spec() const override { return spec_; }
  const Indexed* indexed() const override { return columns_ ? columns_->indexed() : this; }
  int64_t size() const override { return size_; }

  Block Rows(int64_t first, int64_t count) const override {
    Block block;
    for (int64_t i = first; i < first + count; ++i) Add(i, block);
    return block;
  }
  Block Gather(const int64_t* indices, int64_t count) const override {
    Block block;
    for (int64_t i = 0; i < count; ++i) Add(indices[i], block);
    return block;
  }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override {
    if (!context.ragged || !ragged_) return MakeRowIterator(shared_from_this(), *indexed());
    return MakeRowIterator(shared_from_this(), *ragged_);
  }

 private:
  static ElementSpec SpecOf(const Block& columns) {
    ElementSpec spec = ElementSpec::Of(columns.Row(0));
    for (size_t i = 0; i < spec.leaves.size(); ++i) {
      if (columns.columns[i].ragged()) spec.leaves[i].shape[0] = -1;
    }
    return spec;
  }
  // `next`: the spec of this element, and perhaps of following ones.
  void Cover(const ElementSpec& next, int64_t element, const std::string& expected) {
    MaybeSpec cover = ElementSpec::Cover(spec_, next);
    if (!cover) {
      throw Error(ErrorKind::kType,
                  "from_list: all elements must have the structure and dtypes of the first one, "
                  "{}, got {} for element {}",
                  expected, next.ToString(), element);
    }
    spec_ = *std::move(cover);
  }

  static void Separate(ElementList::Group& group) {
    for (int64_t row = 0; row < group.columns.rows; ++row) {
      group.elements.push_back(std::make_shared<const Element>(group.columns.Row(row)));
    }
    group.columns = {};
  }
  // Dicts may list their keys in different orders.
  std::shared_ptr<const Element> Reordered(const Element& from) const {
    auto to = std::make_shared<Element>(from);
    Conform(from.structure, to->leaves, spec_.structure);
    to->structure = spec_.structure;
    return to;
  }
  void Add(int64_t index, Block& block) const {
    Element element = elements_.At(index);
    element.origin = {};
    element.origin.key = static_cast<uint64_t>(index);
    element.origin.index = index;
    if (block.rows++ == 0) block.structure = element.structure;
    block.elements.push_back(std::move(element));
  }

  ElementList elements_;  // empty if columns_ is set
  DatasetPtr columns_;    // the same elements; null unless all have one shape
  int64_t size_;
  ElementSpec spec_;
  std::optional<RaggedList> ragged_;
};

const RegisterDataset from_list_stage(
    "from_list", {.arguments = {{"elements", ArgumentForm::kSharedValues}}},
    [](const std::vector<DatasetPtr>&, const Args& args) -> std::shared_ptr<Dataset> {
      return std::make_shared<ListDataset>(
          *static_cast<const ElementList*>(args.Object("elements").get()));
    });

}  // namespace
}  // namespace penstock
