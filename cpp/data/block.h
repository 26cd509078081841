// Consecutive elements that are passed between stages and threads together.
#pragma once

#include <optional>
#include <vector>

#include "data/column.h"
#include "data/element.h"
#include "data/origin.h"
#include "data/slab.h"

namespace penstock {

// Rows as columns or as separate elements, optionally followed by an error or the end.
struct Block {
  StructureRef structure = Structure::Leaf();
  int64_t rows = 0;  // elements before the error or the end
  // Column form: leaf i of all rows, stacked; ragged only for stages that request it
  // (RunContext::ragged).
  std::vector<Column> columns;
  std::vector<Element> elements;  // element form: `rows` elements with their origins
  RowOrigins origins;             // column form: of the rows
  SlabRows slab;                  // location of the dense columns, if in the slab of their batch
  std::optional<Error> error;     // follows the rows
  bool end = false;               // nothing follows the rows

  bool stacked() const { return elements.empty(); }
  bool ragged() const;
  bool last() const { return end || error.has_value(); }
  // Elements and errors: the number of steps the block represents. An interrupt has no position, so
  // it is not counted.
  int64_t steps() const { return rows + (error && !error->transient()); }
  size_t footprint() const;

  uint64_t key(int64_t row) const {
    return elements.empty() ? origins.key(row) : elements[static_cast<size_t>(row)].origin.key;
  }
  int64_t index(int64_t row) const {
    return elements.empty() ? origins.index(row) : elements[static_cast<size_t>(row)].origin.index;
  }
  Origin origin(int64_t row) const {
    return elements.empty() ? origins.at(row) : elements[static_cast<size_t>(row)].origin;
  }
  bool from_files() const;  // whether any row is
  // See Origin::Join; for `count` rows starting at `begin`.
  void JoinOrigins(Origin& origin, int64_t begin, int64_t count) const;
  // Whether rows can be kept for long without pinning the others. Rows that refer to foreign
  // objects cannot, because copying them needs the foreign lock; a stage that keeps such rows pulls
  // them individually.
  bool CanBeAlone() const;

  // Which columns are own; empty if none.
  std::vector<bool> own_columns() const;
  // Slice, for a block whose rows are passed to different consumers, each row to one. Rows of
  // columns that are `own` remain own. `own` is the value of own_columns() before the first row was
  // passed on.
  Block Divide(int64_t first, int64_t count, const std::vector<bool>& own) const;

  // Without error and end:
  Element Row(int64_t row) const;
  Block Slice(int64_t first, int64_t count) const;
  // Slice, for a consumer that may write to arrays without other owners: those are copied. No other
  // thread may take references to the rows meanwhile.
  Block SliceApart(int64_t first, int64_t count) const;
  // Makes the arrays read-only for all later consumers, even once they are the only owners.
  void BecomeConstant();
  // Moves out the rows with these ascending indices. If it throws, all rows stay in place.
  Block Take(const std::vector<int64_t>& chosen);
  // Converts columns to element form; rows of own columns stay own.
  void Separate();
  // Appends `next`, which follows these rows, if no copy is needed: elements of the same structure
  // and dtypes, or the next rows of a slab. Otherwise returns false without changes.
  bool Concat(Block& next);

  // Replaces the keys by consecutive numbers starting at `first`.
  void Renumber(int64_t first);
  // Makes the rows children of `parent`, numbered from `given`, and advances `given`.
  void BecomeChildren(uint64_t parent, int64_t& given);

  static Block Of(Element element);
  static Block Of(Error error);
  static Block AtEnd();
  // A block of one step, and back: row 0, the error or the end of a block of at most one row.
  static Block Of(Step step);
  Step ToStep() &&;
};

}  // namespace penstock
