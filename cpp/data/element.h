// Elements, and the steps of an iterator.
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
  // Copies leaves that are views of much larger memory: otherwise a row that was produced together
  // with many others would pin the memory of all.
  void KeepAlone();
};

struct End {};

// One result of an iterator.
using Step = std::variant<Element, End, Error>;

}  // namespace penstock
