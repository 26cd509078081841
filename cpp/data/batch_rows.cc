// Checking rows against the batch that they join.
#include "data/batch_rows.h"

#include <algorithm>
#include <iterator>

#include "data/element_text.h"
#include "data/empty_list.h"
#include "data/random.h"

namespace penstock {
namespace {

// "'s leaf ['a']"; "" for a single leaf.
std::string LeafOf(const Structure* structure, size_t leaf) {
  std::string path = structure->LeafPath(static_cast<int>(leaf));
  return path.empty() ? path : "'s leaf " + path;
}

// One row of each column, as a column: the row with the smallest or the largest size.
std::vector<Column> Extremes(const Block& block, bool largest) {
  std::vector<Column> rows;
  for (const Column& column : block.columns) {
    int64_t found = 0;
    for (int64_t row = 1, best = -1; column.ragged() && row < block.rows; ++row) {
      if (best < 0) best = column.RangeOf(0).count;
      const int64_t size = column.RangeOf(row).count;
      if (largest ? size > best : size < best) {
        best = size;
        found = row;
      }
    }
    rows.push_back(column.ragged() ? Column::Of(column.Row(found)) : column);
  }
  return rows;
}

// The first row of these columns.
Element FirstOf(std::span<const Column> columns, const Structure* structure) {
  Element first;
  first.structure = structure;
  for (const Column& column : columns) first.leaves.push_back(column.Row(0));
  return first;
}

}  // namespace

bool BatchRows::Joins(size_t leaf, const Tensor& came, std::vector<DType>* dtypes) const {
  DType dtype = came.dtype();
  if (dtype == dtypes_[leaf]) return true;
  if (!dtype.is_reference() || !dtypes_[leaf].is_reference()) return false;
  if (came.elements() == 0) return true;
  for (const Stretch& stretch : stretches_) {
    if (columns(stretch)[leaf].items.elements() > 0) return false;
  }
  if (dtypes->empty()) *dtypes = dtypes_;
  (*dtypes)[leaf] = dtype;
  return true;
}

std::optional<Error> BatchRows::Check(std::span<const Column> columns, const Structure* structure,
                                      int64_t index) {
  const std::string& stage = stage_.kind;
  std::vector<DType> dtypes;  // set if this row determines them
  if (stretches_.empty()) {
    for (const Tensor& column : columns) dtypes.push_back(column.dtype());
    leaves_ = columns.size();
    open_ = std::ranges::any_of(columns, AreEmptyLists);
    Begin(structure, dtypes);
  } else if (structure != structure_) {
    return Error(ErrorKind::kInvalidArgument,
                 "{}: element {} has structure {}, the batch began with {}", stage, index,
                 structure->ToString(), structure_->ToString());
  } else {
    for (size_t i = 0; i < columns.size(); ++i) {
      if (Joins(i, columns[i], &dtypes)) continue;
      return Error(
          ErrorKind::kInvalidArgument,
          "{}: element {}{} has dtype {}, the batch began with {}; cast them in a map first", stage,
          index, LeafOf(structure, i), columns[i].dtype().name(), dtypes_[i].name());
    }
    if (!dtypes.empty()) Begin(structure, dtypes);
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    if (auto why = Misfit(i, columns[i])) {
      return Error(ErrorKind::kInvalidArgument, "{}: element {}{} {}", stage, index,
                   LeafOf(structure, i), *why);
    }
  }
  if (!dtypes.empty()) dtypes_ = std::move(dtypes);
  return std::nullopt;
}

bool BatchRows::AppendRagged(const Block& block) {
  Block rows = block;
  if (structure_ && Conform(rows.structure, rows.columns, structure_)) rows.structure = structure_;
  try {
    FitEmptyLists(rows.columns, rows.structure, rows.rows);
    for (bool largest : {false, true}) {
      if (Check(Extremes(rows, largest), rows.structure, 0)) return false;
    }
  } catch (const Error&) {  // this error is not about the row
    return false;
  }
  for (size_t i = 0; i < rows.columns.size(); ++i) {
    Column& column = rows.columns[i];
    if (!column.ragged()) continue;
    if (!MayDiffer(i)) return false;
    column = column.FromZero();
  }
  DropUnjoined();
  const size_t first = columns_.size();
  columns_.insert(columns_.end(), rows.columns.begin(), rows.columns.end());
  Include({first, block.rows}, rows.structure, block, 0);
  return true;
}

void BatchRows::FitEmptyLists(std::span<Column> added, const Structure* structure, int64_t rows) {
  if (stretches_.empty() || structure != structure_) return;
  std::vector<DType> dtypes;
  for (size_t leaf = 0; leaf < leaves_; ++leaf) {
    const Column& first = columns(stretches_.front())[leaf];
    const bool same = added[leaf].dtype() == dtypes_[leaf] && added[leaf].rank() == first.rank();
    if (same) continue;
    if (AreEmptyLists(added[leaf])) {
      const LeafSpec form{dtypes_[leaf], first.shape(0)};
      if (CanAdopt(form)) added[leaf] = EmptyRows(rows, form);
      continue;
    }
    const LeafSpec form{added[leaf].dtype(), added[leaf].shape(0)};
    const bool open = std::ranges::all_of(
        stretches_, [&](const Stretch& stretch) { return AreEmptyLists(columns(stretch)[leaf]); });
    if (!open || !CanAdopt(form)) continue;
    for (Stretch& stretch : stretches_) {
      columns(stretch)[leaf] = EmptyRows(stretch.rows, form);
      stretch.slab = {};
    }
    if (dtypes.empty()) dtypes = dtypes_;
    dtypes[leaf] = form.dtype;
  }
  if (dtypes.empty()) return;
  Begin(structure, dtypes);
  dtypes_ = std::move(dtypes);
}

void BatchRows::DropUnjoined() {
  columns_.resize(stretches_.empty() ? 0 : stretches_.back().first_column + leaves_);
}

void BatchRows::Include(Stretch stretch, const Structure* structure, const Block& block,
                        int64_t row) {
  if (stretches_.empty()) {
    structure_ = structure;
    origin_ = block.origin(row);
    origin_.key = ChildKey(origin_.key, ~uint64_t{0});
  }
  block.JoinOrigins(origin_, row, stretch.rows);
  rows_ += stretch.rows;
  Keep(std::move(stretch));
}

std::optional<Error> BatchRows::Append(Block&& block, int64_t index, Block* rest) {
  rest->rows = 0;
  if (block.ragged()) {
    if (AppendRagged(block)) return std::nullopt;
    block.Separate();
  }
  const bool stacked = block.stacked();
  for (int64_t row = 0; row < block.rows; ++row) {
    DropUnjoined();
    const size_t first = columns_.size();
    StructureRef& structure = stacked ? block.structure : block.elements[row].structure;
    SlabRows slab = stacked ? block.slab : SlabRows();
    if (structure_ && structure != structure_) {
      const bool conforms = stacked ? Conform(structure, block.columns, structure_)
                                    : Conform(structure, block.elements[row].leaves, structure_);
      if (conforms) {
        structure = structure_;
        slab = {};  // its columns are in a different order than those of the previous rows
      }
    }
    if (stacked) {
      std::ranges::move(block.columns, std::back_inserter(columns_));
    } else {
      for (const Tensor& leaf : block.elements[row].leaves) columns_.push_back(Column::Of(leaf));
    }
    const std::span<Column> added(columns_.begin() + static_cast<int64_t>(first), columns_.end());
    std::optional<Error> error;
    try {
      FitEmptyLists(added, structure, stacked ? block.rows : 1);
      error = Check(added, structure, index + row);
    } catch (const Error& thrown) {
      error = thrown;
    }
    if (error) {
      error->In({stage_, index + row, ElementText(FirstOf(added, structure))}, block.origin(row));
      // All rows of a column have one shape, so report only the first.
      if (stacked) std::ranges::move(added, block.columns.begin());
      if (row + 1 < block.rows) *rest = block.Slice(row + 1, block.rows - row - 1);
      return error;
    }
    if (!stacked) block.elements[row].leaves.clear();
    Include({first, stacked ? block.rows : 1, std::move(slab)}, structure, block, row);
    if (stacked) break;
  }
  return std::nullopt;
}

Tensor BatchRows::JoinItems(size_t leaf, const Shape& shape) const {
  std::vector<const Tensor*> parts;
  parts.reserve(stretches_.size());
  for (const Stretch& stretch : stretches_) parts.push_back(&columns(stretch)[leaf].items);
  return Tensor::Concat(dtypes_[leaf], shape, parts);
}

Element BatchRows::Assemble(const Structure* structure) {
  Element batch;
  batch.structure = structure;
  if (stretches_.empty()) return batch;
  for (size_t leaf = 0; leaf < leaves_; ++leaf) {
    batch.leaves.push_back(Join(leaf));
  }
  return batch;
}

Element BatchRows::Take() {
  Element batch;
  try {
    batch = Assemble(structure_ ? structure_.get() : Structure::Leaf());
  } catch (...) {
    Reset();
    throw;
  }
  batch.origin = std::move(origin_);
  Reset();
  return batch;
}

void BatchRows::Reset() {
  Clear();
  stretches_.clear();
  columns_.clear();
  structure_ = nullptr;
  origin_ = Origin();
  rows_ = 0;
}

}  // namespace penstock
