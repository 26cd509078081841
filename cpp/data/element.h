// What flows: an element, or at its position an error or the end.
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
  // Copies leaves that are views of much more memory: a row that was made together with many others
  // would otherwise keep the memory of all of them.
  void KeepAlone();
};

struct End {};

// One answer of an iterator.
using Step = std::variant<Element, End, Error>;

}  // namespace penstock
