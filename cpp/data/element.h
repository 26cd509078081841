// What flows: an element, and blocks of consecutive elements that cross threads in one hand-off.
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
};

struct End {};

// One answer of an iterator.
using Step = std::variant<Element, End, Error>;

// Rows that travel together at most, however many are asked for: what is done once for a block
// costs nothing any more, and an error, a signal or a close waits for no more than these.
inline constexpr int64_t kMostBlockRows = 1024;

// Consecutive elements, as columns or one by one, then perhaps an error or the end.
struct Block {
  StructureRef structure = Structure::Leaf();
  int64_t rows = 0;             // elements before the error or the end
  std::vector<Tensor> columns;  // column form: leaf i of all rows, stacked along axis 0
  // Ragged form, where rows differ in size: row i of a column is [splits[i], splits[i + 1]) along
  // its axis 0. A column without splits is stacked. Only for stages that have asked for it
  // (RunContext::ragged).
  std::vector<std::vector<int64_t>> splits;
  std::vector<Element> elements;  // element form, `rows` of them
  std::vector<uint64_t> keys;     // identities of the rows; empty: first.key + i
  std::vector<int64_t> offsets;   // of the rows in first.file; empty: only the first one's is known
  std::vector<Origin> origins;  // of the rows, but for their keys; empty: they follow the first one
  Origin first;                 // of the first row
  std::optional<Error> error;   // comes after the rows
  bool end = false;             // nothing comes after the rows
  bool placed = false;          // the columns are rows of a slab made for the batch they join

  bool stacked() const { return elements.empty() && splits.empty(); }
  bool ragged() const { return !splits.empty(); }
  bool last() const { return end || error.has_value(); }
  uint64_t key(int64_t row) const;
  int64_t index(int64_t row) const;  // in its source
  Origin origin(int64_t row) const;
  bool from_files() const;  // whether any row is
  Element Row(int64_t row) const;
  // Rows [first, first + count), without error and end.
  Block Part(int64_t first, int64_t count) const;
  size_t footprint() const;

  static Block Of(Element element);
  static Block Of(Error error);
  static Block AtEnd();
  // Row 0, the error or the end of a block of at most one row.
  static Block Of(Step step);
  Step ToStep() &&;
};

}  // namespace penstock
