// What flows: an element, or an error or the end in its position.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "data/error.h"
#include "data/structure.h"
#include "data/tensor.h"

namespace penstock {

struct Element {
  std::vector<Tensor> leaves;
  StructureRef structure = Structure::Leaf();
  Origin origin;

  size_t footprint() const;
  // Copies leaves that are views of much more memory: a row of many that were made together would
  // keep them all for as long as it is kept.
  void KeepAlone();
};

struct End {};

// One answer of an iterator.
using Step = std::variant<Element, End, Error>;

}  // namespace penstock
