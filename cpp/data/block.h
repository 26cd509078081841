// Consecutive elements that travel together and cross threads in one hand-off.
#pragma once

#include <optional>
#include <vector>

#include "data/column.h"
#include "data/element.h"
#include "data/origin.h"
#include "data/slab.h"

namespace penstock {

// Rows as columns or one by one, then perhaps an error or the end.
struct Block {
  StructureRef structure = Structure::Leaf();
  int64_t rows = 0;  // elements before the error or the end
  // Column form: leaf i of all rows, stacked; ragged only for stages that have asked for it
  // (RunContext::ragged).
  std::vector<Column> columns;
  std::vector<Element> elements;  // element form, `rows` of them, each with its origin
  RowOrigins origins;             // of the rows of columns
  SlabRows slab;                  // where the dense columns lie, if in a batch that they join
  std::optional<Error> error;     // comes after the rows
  bool end = false;               // nothing comes after the rows

  bool stacked() const { return elements.empty(); }
  bool ragged() const;
  bool last() const { return end || error.has_value(); }
  // Elements and errors: by how many steps taking the block advances. An interrupt has no position
  // of its own, so it is not counted.
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
  // As Origin::Join, with `count` rows from row `begin` on.
  void JoinOrigins(Origin& origin, int64_t begin, int64_t count) const;
  // Whether each row can be kept for long without the others. Rows with references to objects
  // cannot, because these may be copied with the foreign lock only: a stage that keeps such rows
  // pulls them one by one.
  bool CanBeAlone() const;

  // Which columns are own; none if the vector is empty.
  std::vector<bool> own_columns() const;
  // Rows of a block whose rows go to different users, each to one: arrays of the columns that are
  // `own` stay so. That is what own_columns said before the first row went.
  Block Divide(int64_t first, int64_t count, const std::vector<bool>& own) const;

  // Without error and end:
  Element Row(int64_t row) const;
  Block Slice(int64_t first, int64_t count) const;
  // The same for someone who may write to arrays that no one else has: those are copied. Only where
  // no other thread takes references to the rows meanwhile.
  Block SliceApart(int64_t first, int64_t count) const;
  // Whoever gets the rows may only read their arrays, however soon others let go of them.
  void BecomeConstant();
  // Moves out the rows of these numbers, which ascend. All stay where they are when this throws.
  Block Take(const std::vector<int64_t>& chosen);
  // Brings the rows of columns into element form; those of own columns are own.
  void Separate();
  // Joins `next`, which comes after these rows, if that copies nothing: elements of one structure
  // and the same dtypes, or the next rows of a slab. False, with nothing changed, otherwise.
  bool Concat(Block& next);

  // The keys become the numbers from `first` on.
  void Renumber(int64_t first);
  // The rows become the children of `parent` from number `given` on, which grows by as many.
  void BecomeChildren(uint64_t parent, int64_t& given);

  static Block Of(Element element);
  static Block Of(Error error);
  static Block AtEnd();
  // Row 0, the error or the end of a block of at most one row.
  static Block Of(Step step);
  Step ToStep() &&;
};

}  // namespace penstock
