// The padding arguments, matched to the leaves of the elements.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/spec.h"

namespace penstock {

// The padding of one leaf.
struct LeafPadding {
  Shape shape;                  // -1: the maximum in the batch
  bool any_rank = true;         // no shape was given
  std::optional<Tensor> value;  // a scalar of the leaf's dtype; nullopt: zero, "" for strings
};

class PaddingRules {
 public:
  // `shapes` is nested like the elements; null: the maximum in each batch. A padding value is a
  // tuple of scalars with the same meaning in several dtypes; the one with the leaf's dtype is
  // used. `value` is for all leaves; `values` is nested like the elements, with None for a default.
  // Both may be null.
  PaddingRules(std::string stage, std::shared_ptr<const ElementSpec> shapes,
               std::shared_ptr<const Element> value, std::shared_ptr<const Element> values,
               std::string shapes_argument = "padded_shapes")
      : stage_(std::move(stage)),
        shapes_argument_(std::move(shapes_argument)),
        shapes_(std::move(shapes)),
        value_(std::move(value)),
        values_(std::move(values)) {}

  // Returns the padding of each leaf for elements with this structure and these dtypes. Throws a
  // ValueError if the arguments are nested differently, a TypeError if a leaf cannot be padded with
  // its value.
  std::vector<LeafPadding> Match(const Structure* structure,
                                 const std::vector<DType>& dtypes) const;
  // Checks the arguments against the spec of the elements. `exact`: its shapes are declared;
  // otherwise they are those of one element.
  void Check(const ElementSpec& elements, bool exact) const;
  // The spec of a padded row.
  ElementSpec Padded(const ElementSpec& elements, bool exact) const;

 private:
  // Finds the scalars in values_ for each leaf of the element: the index of the first, and their
  // count.
  void MatchValues(const Structure* values, const Structure* element, int* next,
                   std::vector<int>* first, std::vector<int>* count) const;
  std::string Leaf(const Structure* structure, size_t leaf) const;

  std::string stage_;
  std::string shapes_argument_;  // as the user knows it
  std::shared_ptr<const ElementSpec> shapes_;
  std::shared_ptr<const Element> value_;
  std::shared_ptr<const Element> values_;
};

}  // namespace penstock
