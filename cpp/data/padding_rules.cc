// Matching nested shapes and padding values to elements.
#include "data/padding_rules.h"

#include <algorithm>

namespace penstock {
namespace {

bool HoldsNone(const Structure* structure) {
  return structure->kind() == Structure::Kind::kNone ||
         std::ranges::any_of(structure->children(),
                             [](const StructureRef& child) { return HoldsNone(child); });
}

// Returns the index of the child of `values` for child `i` of `element`, and the number of leaves
// before it; -1 if there is none.
int ChildFor(const Structure* values, const Structure* element, size_t i, int* leaves_before) {
  size_t j = i;
  if (element->kind() == Structure::Kind::kDict) {
    const std::vector<std::string>& names = values->names();
    auto found = std::find(names.begin(), names.end(), element->names()[i]);
    if (found == names.end()) return -1;
    j = static_cast<size_t>(found - names.begin());
  }
  *leaves_before = 0;
  for (size_t k = 0; k < j; ++k) *leaves_before += values->children()[k]->leaves();
  return static_cast<int>(j);
}

bool SameNode(const Structure* values, const Structure* element) {
  if (values->kind() != element->kind()) return false;
  if (values->children().size() != element->children().size()) return false;
  return element->kind() == Structure::Kind::kDict || values->foreign() == element->foreign();
}

}  // namespace

std::string PaddingRules::Leaf(const Structure* structure, size_t leaf) const {
  std::string path = structure->LeafPath(static_cast<int>(leaf));
  return path.empty() ? "the component" : "component " + path;
}

void PaddingRules::MatchValues(const Structure* values, const Structure* element, int* next,
                               std::vector<int>* first, std::vector<int>* count) const {
  if (values->kind() == Structure::Kind::kNone) {  // defaults for all leaves below
    for (int i = 0; i < element->leaves(); ++i) {
      first->push_back(-1);
      count->push_back(0);
    }
    return;
  }
  if (element->kind() == Structure::Kind::kLeaf) {
    bool scalars = values->kind() == Structure::Kind::kTuple;
    for (const StructureRef& child : values->children()) {
      scalars = scalars && child->kind() == Structure::Kind::kLeaf;
    }
    if (scalars) {
      first->push_back(*next);
      count->push_back(values->leaves());
      return;
    }
  } else if (SameNode(values, element)) {
    for (size_t i = 0; i < element->children().size(); ++i) {
      int before = 0;
      int child = ChildFor(values, element, i, &before);
      if (child < 0) break;
      int at = *next + before;
      MatchValues(values->children()[static_cast<size_t>(child)], element->children()[i], &at,
                  first, count);
      if (i + 1 == element->children().size()) return;
    }
    if (element->children().empty()) return;
  }
  throw Error(ErrorKind::kInvalidArgument,
              "{}: padding_values must be one scalar, or be nested as the elements are, {}; None "
              "stands for a default",
              stage_, element->ToString());
}

std::vector<LeafPadding> PaddingRules::Match(const Structure* structure,
                                             const std::vector<DType>& dtypes) const {
  if (HoldsNone(structure)) {
    throw Error(
        ErrorKind::kType,
        "{}: arrays were expected, got elements with None, {}; map them to what has no None",
        stage_, structure->ToString());
  }
  std::vector<LeafPadding> rules(dtypes.size());
  if (shapes_) {
    std::vector<int> order = LeafOrder(shapes_->structure, structure);
    if (order.size() != dtypes.size()) {
      throw Error(ErrorKind::kInvalidArgument,
                  "{}: {} must be nested as the elements are, {}, got {}", stage_, shapes_argument_,
                  structure->ToString(), shapes_->structure->ToString());
    }
    for (size_t i = 0; i < rules.size(); ++i) {
      rules[i].shape = shapes_->leaves[static_cast<size_t>(order[i])].shape;
      rules[i].any_rank = false;
    }
  }
  std::vector<int> first, count;
  const Element* values = values_ ? values_.get() : value_.get();
  if (values_) {
    int next = 0;
    MatchValues(values_->structure, structure, &next, &first, &count);
  }
  for (size_t i = 0; values && i < rules.size(); ++i) {
    int begin = values_ ? first[i] : 0;
    int end = values_ ? begin + count[i] : static_cast<int>(values->leaves.size());
    if (begin < 0) continue;
    for (int j = begin; j < end && !rules[i].value; ++j) {
      const Tensor& scalar = values->leaves[static_cast<size_t>(j)];
      bool fits = scalar.dtype() == dtypes[i];
      // empty object arrays may turn out to be strings
      fits = fits || (dtypes[i].code == TypeCode::kObject && scalar.dtype().is_reference());
      if (fits) rules[i].value = scalar;
    }
    if (!rules[i].value) {
      throw Error(ErrorKind::kType,
                  "{}: padding_values for {} must be of its dtype {}, got {}; write a scalar of "
                  "that dtype, or None for 0 and \"\"",
                  stage_, Leaf(structure, i), dtypes[i].name(),
                  values->leaves[static_cast<size_t>(begin)].dtype().name());
    }
  }
  return rules;
}

void PaddingRules::Check(const ElementSpec& elements, bool exact) const {
  std::vector<DType> dtypes;
  for (auto& leaf : elements.leaves) dtypes.push_back(leaf.dtype);
  std::vector<LeafPadding> rules = Match(elements.structure, dtypes);
  for (size_t i = 0; i < rules.size(); ++i) {
    const LeafSpec& leaf = elements.leaves[i];
    if (leaf.any_rank && rules[i].any_rank) {
      throw Error(ErrorKind::kInvalidArgument,
                  "{}: padded_shapes must be given, because {} has an unknown number of axes",
                  stage_, Leaf(elements.structure, i));
    }
    if (leaf.any_rank || rules[i].any_rank) continue;
    const Shape& shape = rules[i].shape;
    bool fits = shape.rank() == leaf.shape.rank();
    for (int d = 0; exact && fits && d < shape.rank(); ++d) {
      fits = shape[d] < 0 || leaf.shape[d] <= shape[d];
    }
    if (!fits) {
      throw Error(ErrorKind::kInvalidArgument,
                  "{}: padded_shapes has {} for {}, whose elements have shape {}; give as many "
                  "axes, none of them smaller",
                  stage_, shape.ToString(), Leaf(elements.structure, i), leaf.shape.ToString());
    }
  }
}

ElementSpec PaddingRules::Padded(const ElementSpec& elements, bool exact) const {
  std::vector<DType> dtypes;
  for (auto& leaf : elements.leaves) dtypes.push_back(leaf.dtype);
  std::vector<LeafPadding> rules = Match(elements.structure, dtypes);
  ElementSpec padded = elements;
  for (size_t i = 0; i < rules.size(); ++i) {
    LeafSpec& leaf = padded.leaves[i];
    if (!rules[i].any_rank) {
      leaf.shape = rules[i].shape;
      leaf.any_rank = false;
    } else if (!exact) {
      for (int d = 0; d < leaf.shape.rank(); ++d) leaf.shape[d] = -1;
    }
  }
  return padded;
}

}  // namespace penstock
