// What padded_batch was asked for, matched to the leaves that it meets.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/spec.h"

namespace penstock {

// Of one leaf.
struct LeafPadding {
  Shape shape;                  // -1: the largest of the batch
  bool any_rank = true;         // no shape was given
  std::optional<Tensor> value;  // a scalar of the leaf's dtype; nullopt: zero, "" for strings
};

class PaddingRules {
 public:
  // `shapes` nests as the elements do; null: the largest of each batch. A padding value is a tuple
  // of scalars that mean the same in several dtypes; the one of the leaf's dtype is taken. `value`
  // is for all leaves; `values` nests as the elements do, with None for a default. Both may be
  // null.
  PaddingRules(std::string stage, std::shared_ptr<const ElementSpec> shapes,
               std::shared_ptr<const Element> value, std::shared_ptr<const Element> values,
               std::string shapes_argument = "padded_shapes")
      : stage_(std::move(stage)),
        shapes_argument_(std::move(shapes_argument)),
        shapes_(std::move(shapes)),
        value_(std::move(value)),
        values_(std::move(values)) {}

  // For each leaf of elements with this structure and these dtypes. Throws a ValueError when the
  // arguments nest otherwise, a TypeError when a leaf cannot be padded with its value.
  std::vector<LeafPadding> Match(const Structure* structure,
                                 const std::vector<DType>& dtypes) const;
  // Checks against what is known of the elements before they come. `exact`: their shapes are
  // declared; else they are those of one element.
  void Check(const ElementSpec& elements, bool exact) const;
  // The spec of a padded row.
  ElementSpec Padded(const ElementSpec& elements, bool exact) const;

 private:
  // The leaves of values_ for each leaf of the element: the number of the first of its scalars.
  void MatchValues(const Structure* values, const Structure* element, int* next,
                   std::vector<int>* first, std::vector<int>* count) const;
  std::string Leaf(const Structure* structure, size_t leaf) const;

  std::string stage_;
  std::string shapes_argument_;  // what its user calls it
  std::shared_ptr<const ElementSpec> shapes_;
  std::shared_ptr<const Element> value_;
  std::shared_ptr<const Element> values_;
};

}  // namespace penstock
