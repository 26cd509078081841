// from_list: elements in memory whose shapes may differ, with random access.
#include <algorithm>
#include <cstring>
#include <optional>

#include "engine/registry.h"

namespace penstock {
namespace {

// What the argument `elements` points to.
using Elements = std::vector<std::shared_ptr<const Element>>;

// The elements in ragged form.
class RaggedList final : public Indexed {
 public:
  RaggedList(const Elements& elements, const ElementSpec& spec)
      : elements_(elements), spec_(spec) {}

  // Whether elements are numbers that differ in the size of their first axis alone, and so small
  // that to copy them costs less than to pass them on one by one.
  static bool Fits(const Elements& elements, const ElementSpec& spec) {
    constexpr size_t kSmall = 2 << 10;  // bytes of an element
    for (const LeafSpec& leaf : spec.leaves) {
      if (leaf.any_rank || leaf.dtype.is_reference() || leaf.shape.rank() == kMaxRank) return false;
      for (int d = 1; d < leaf.shape.rank(); ++d) {
        if (leaf.shape[d] < 0) return false;
      }
    }
    size_t bytes = 0;
    for (auto& element : elements) bytes += element->footprint();
    return bytes <= kSmall * elements.size() &&
           std::any_of(spec.leaves.begin(), spec.leaves.end(), DiffersInSize);
  }

  int64_t size() const override { return static_cast<int64_t>(elements_.size()); }
  Block Rows(int64_t first, int64_t count) const override {
    return Joined(count, [first](int64_t row) { return first + row; });
  }
  Block Gather(const int64_t* indices, int64_t count) const override {
    Block block = Joined(count, [indices](int64_t row) { return indices[row]; });
    block.origins.first = Origin();
    block.origins.keys.assign(indices, indices + count);
    return block;
  }

 private:
  static bool DiffersInSize(const LeafSpec& leaf) {
    return leaf.shape.rank() > 0 && leaf.shape[0] < 0;
  }

  template <typename IndexOf>
  Block Joined(int64_t count, IndexOf index_of) const {
    Block block;
    block.structure = spec_.structure;
    block.rows = count;
    block.origins = RowOrigins::From(index_of(0));
    std::vector<const Tensor*> leaves(static_cast<size_t>(count));
    for (size_t i = 0; i < spec_.leaves.size(); ++i) {
      for (int64_t row = 0; row < count; ++row) {
        leaves[static_cast<size_t>(row)] =
            &elements_[static_cast<size_t>(index_of(row))]->leaves[i];
      }
      block.columns.push_back(*Column::Of(leaves));
    }
    return block;
  }

  const Elements& elements_;
  const ElementSpec& spec_;
};

// Elements of numbers alone, as columns: an Element takes some 300 bytes around its numbers. Null
// for others.
DatasetPtr AsColumns(const Elements& elements) {
  Element columns;
  columns.structure = elements[0]->structure;
  const auto count = static_cast<int64_t>(elements.size());
  for (size_t i = 0; i < elements[0]->leaves.size(); ++i) {
    const DType dtype = elements[0]->leaves[i].dtype();
    for (const auto& element : elements) {
      const Tensor& leaf = element->leaves[i];
      if (!leaf.is_inline() || leaf.shape().rank() > 0 || leaf.dtype() != dtype) return nullptr;
    }
    Tensor column = Tensor::Make(dtype, {count});
    uint8_t* to = column.mutable_data();
    for (const auto& element : elements) {
      std::memcpy(to, element->leaves[i].data(), dtype.itemsize);
      to += dtype.itemsize;
    }
    columns.leaves.push_back(std::move(column));
  }
  if (columns.leaves.empty()) return nullptr;
  Args args("from_list");
  args.Set("tensors", std::make_shared<const Element>(std::move(columns)));
  return MakeDataset("from_tensor_slices", {}, args);
}

class ListDataset final : public Dataset, public Indexed {
 public:
  explicit ListDataset(Elements elements) : elements_(std::move(elements)) {
    spec_ = ElementSpec::Of(*elements_[0]);
    for (size_t i = 1; i < elements_.size(); ++i) {
      ElementSpec next = ElementSpec::Of(*elements_[i]);
      MaybeSpec cover = ElementSpec::Cover(spec_, next);
      if (!cover) {
        throw Error(ErrorKind::kType,
                    "from_list: all elements must have the structure and dtypes of the first one, "
                    "{}, got {} for element {}",
                    ElementSpec::Of(*elements_[0]).ToString(), next.ToString(), i);
      }
      spec_ = *std::move(cover);
      if (next.structure != spec_.structure) elements_[i] = Reordered(*elements_[i]);
    }
    size_ = static_cast<int64_t>(elements_.size());
    columns_ = AsColumns(elements_);
    if (columns_) {
      Elements().swap(elements_);
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
  // Dicts may list their keys in another order.
  std::shared_ptr<const Element> Reordered(const Element& from) const {
    auto to = std::make_shared<Element>(from);
    Conform(from.structure, to->leaves, spec_.structure);
    to->structure = spec_.structure;
    return to;
  }
  void Add(int64_t index, Block& block) const {
    Element element = *elements_[static_cast<size_t>(index)];
    element.origin.key = static_cast<uint64_t>(index);
    element.origin.index = index;
    if (block.rows++ == 0) block.structure = element.structure;
    block.elements.push_back(std::move(element));
  }

  Elements elements_;   // none where there are columns
  DatasetPtr columns_;  // the same elements; null unless they are numbers alone
  int64_t size_;
  ElementSpec spec_;
  std::optional<RaggedList> ragged_;
};

const RegisterDataset from_list_stage(
    "from_list", {.arguments = {{"elements", ArgumentForm::kSharedValues}}},
    [](const std::vector<DatasetPtr>&, const Args& args) -> std::shared_ptr<Dataset> {
      return std::make_shared<ListDataset>(
          *static_cast<const Elements*>(args.Object("elements").get()));
    });

}  // namespace
}  // namespace penstock
