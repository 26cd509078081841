// from_list: elements in memory whose shapes may differ, with random access.
#include "pipeline/registry.h"

namespace penstock {
namespace {

// What the argument `elements` points to.
using Elements = std::vector<std::shared_ptr<const Element>>;

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
  }
  int64_t cardinality() const override { return size(); }
  MaybeSpec spec() const override { return spec_; }
  const Indexed* indexed() const override { return this; }
  int64_t size() const override { return static_cast<int64_t>(elements_.size()); }

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
  IteratorPtr MakeIterator(const RunContext&) const override {
    return MakeRowIterator(shared_from_this(), *this);
  }

 private:
  // Dicts may list their keys in another order.
  std::shared_ptr<const Element> Reordered(const Element& from) const {
    auto to = std::make_shared<Element>();
    to->structure = spec_.structure;
    for (int leaf : LeafOrder(from.structure, spec_.structure))
      to->leaves.push_back(from.leaves[static_cast<size_t>(leaf)]);
    return to;
  }
  void Add(int64_t index, Block& block) const {
    Element element = *elements_[static_cast<size_t>(index)];
    element.origin.key = static_cast<uint64_t>(index);
    element.origin.index = index;
    if (block.rows++ == 0) {
      block.structure = element.structure;
      block.first = element.origin;
    }
    block.elements.push_back(std::move(element));
  }

  Elements elements_;
  ElementSpec spec_;
};

const RegisterDataset registration(
    "from_list", [](const std::vector<DatasetPtr>&, const Args& args) -> std::shared_ptr<Dataset> {
      return std::make_shared<ListDataset>(
          *static_cast<const Elements*>(args.Object("elements").get()));
    });

}  // namespace
}  // namespace penstock
