// Deriving specs from each other.
#include "data/spec.h"

namespace penstock {

bool LeafSpec::Accepts(const Shape& other) const {
  if (any_rank) return true;
  if (shape.rank() != other.rank()) return false;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] >= 0 && other[i] != shape[i]) return false;
  }
  return true;
}

std::string LeafSpec::ToString() const {
  return "shape " + (any_rank ? std::string("unknown") : shape.ToString()) + ", dtype " +
         dtype.name();
}

ElementSpec ElementSpec::Of(const Element& element) {
  ElementSpec spec{element.structure, {}};
  for (auto& leaf : element.leaves) spec.leaves.push_back({leaf.dtype(), leaf.shape(), false});
  return spec;
}

ElementSpec ElementSpec::Stacked(int64_t rows) const {
  ElementSpec spec = *this;
  for (auto& leaf : spec.leaves) {
    if (!leaf.any_rank) leaf.shape = leaf.shape.Prepend(rows);
  }
  return spec;
}

ElementSpec ElementSpec::Unstacked() const {
  ElementSpec spec = *this;
  for (auto& leaf : spec.leaves) {
    if (!leaf.any_rank && leaf.shape.rank() > 0) leaf.shape = leaf.shape.WithoutFirst();
  }
  return spec;
}

std::string ElementSpec::ToString() const {
  std::vector<std::string> texts;
  for (const LeafSpec& leaf : leaves) {
    std::string text = leaf.dtype.name();
    if (leaf.any_rank) {
      text += " of any shape";
    } else if (leaf.shape.rank() > 0) {
      text += " of shape " + leaf.shape.ToString();
    }
    texts.push_back(std::move(text));
  }
  return structure->ToString(texts);
}

std::optional<ElementSpec> ElementSpec::Cover(const ElementSpec& a, const ElementSpec& b) {
  std::vector<int> order = LeafOrder(b.structure, a.structure);
  if (order.empty() && !a.leaves.empty()) return std::nullopt;
  if (a.leaves.size() != b.leaves.size()) return std::nullopt;
  ElementSpec cover = a;
  for (size_t i = 0; i < a.leaves.size(); ++i) {
    LeafSpec& leaf = cover.leaves[i];
    const LeafSpec& other = b.leaves[order[i]];
    if (leaf.dtype != other.dtype) return std::nullopt;
    if (leaf.any_rank || other.any_rank || leaf.shape.rank() != other.shape.rank()) {
      leaf.any_rank = true;
      leaf.shape = {};
      continue;
    }
    for (int d = 0; d < leaf.shape.rank(); ++d) {
      if (leaf.shape[d] != other.shape[d]) leaf.shape[d] = -1;
    }
  }
  return cover;
}

}  // namespace penstock
