// Types and shapes of elements: the basis of element_spec, known before a run.
#pragma once

#include <optional>
#include <vector>

#include "data/element.h"

namespace penstock {

struct LeafSpec {
  DType dtype;
  Shape shape;  // -1: any size
  bool any_rank = false;

  bool operator==(const LeafSpec&) const = default;
  bool Accepts(const Shape& other) const;
  std::string ToString() const;
};

struct ElementSpec {
  StructureRef structure = Structure::Leaf();
  std::vector<LeafSpec> leaves;

  bool operator==(const ElementSpec&) const = default;
  static ElementSpec Of(const Element& element);
  static ElementSpec Scalar(DType dtype) { return {Structure::Leaf(), {{dtype, {}, false}}}; }
  // Adds a first axis to each leaf (-1: any size), or removes it.
  ElementSpec Stacked(int64_t rows) const;
  ElementSpec Unstacked() const;
  // The narrowest spec that covers both; nullopt if structures or dtypes differ.
  static std::optional<ElementSpec> Cover(const ElementSpec& a, const ElementSpec& b);
  // For example "(int64, float32 of shape (3,))".
  std::string ToString() const;
};

using MaybeSpec = std::optional<ElementSpec>;

}  // namespace penstock
