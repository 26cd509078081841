// Types and shapes of elements: what element_spec says before anything runs.
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
  // Each leaf with one more axis in front (-1: any size), or without its first one.
  ElementSpec Stacked(int64_t rows) const;
  ElementSpec Unstacked() const;
  // The closest spec that covers both; nullopt when structure or dtypes differ.
  static std::optional<ElementSpec> Cover(const ElementSpec& a, const ElementSpec& b);
  // "(leaf, leaf) of int64 (), float32 (3,)".
  std::string ToString() const;
};

using MaybeSpec = std::optional<ElementSpec>;

}  // namespace penstock
