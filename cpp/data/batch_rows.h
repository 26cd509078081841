// Collects the rows of one batch, and builds the batch from them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/block.h"

namespace penstock {

// Common base of all kinds of batches: rows of one structure and one dtype per leaf. Subclasses
// define which shapes may share a batch, and how a leaf of the batch is built.
class BatchRows {
 public:
  // `stage` names the caller in errors and outlives this.
  explicit BatchRows(const StageLabel& stage) : stage_(stage) {}
  virtual ~BatchRows() = default;
  BatchRows(const BatchRows&) = delete;
  BatchRows& operator=(const BatchRows&) = delete;

  int64_t rows() const { return rows_; }
  // Sets the maximum number of rows of the batch.
  virtual void SetCapacity(int64_t) {}
  // Adds the rows of a block (the caller handles its error and end). A row that does not fit is
  // skipped and its error is returned; `rest` then holds the rows after it. `index` is the position
  // of the block's first row in the input.
  std::optional<Error> Append(Block&& block, int64_t index, Block* rest);
  // Returns the batch. Empty afterwards, even if this throws.
  Element Take();

 protected:
  struct Stretch {
    size_t first_column = 0;
    int64_t rows = 0;
    SlabRows slab = {};  // location of the dense columns
  };
  // The column of each leaf; splits of ragged columns start at 0.
  std::span<Column> columns(const Stretch& stretch) {
    return {columns_.data() + stretch.first_column, leaves_};
  }
  std::span<const Column> columns(const Stretch& stretch) const {
    return {columns_.data() + stretch.first_column, leaves_};
  }
  const std::string& stage() const { return stage_.kind; }
  std::vector<Stretch>& stretches() { return stretches_; }
  const std::vector<Stretch>& stretches() const { return stretches_; }

  // The dtype of a leaf of the batch. It may change while all rows of the leaf are empty, because
  // an empty array of strings does not show which kind of string it holds.
  DType dtype(size_t leaf) const { return dtypes_[leaf]; }
  // Whether the first row has empty lists, whose dtype a later row may determine.
  bool open() const { return open_; }

  // Called before the first row joins and when a dtype becomes known; throws if such rows cannot
  // form a batch.
  virtual void Begin(const Structure* structure, const std::vector<DType>& dtypes) {
    (void)structure;
    (void)dtypes;
  }
  // Why rows of this stacked column cannot join the batch: "has shape ..."; nullopt if they can.
  virtual std::optional<std::string> Misfit(size_t leaf, const Tensor& column) const = 0;
  // Whether the rows of a leaf may differ in the size of their first axis.
  virtual bool MayDiffer(size_t leaf) const {
    (void)leaf;
    return false;
  }
  virtual void Keep(Stretch stretch) { stretches_.push_back(std::move(stretch)); }
  virtual Tensor Join(size_t leaf) = 0;
  // The items of all rows of a leaf, concatenated, with the given shape.
  Tensor JoinItems(size_t leaf, const Shape& shape) const;
  // Builds the leaves and the structure of the batch.
  virtual Element Assemble(const Structure* structure);
  virtual void Clear() {}

 private:
  std::optional<Error> Check(std::span<const Column> columns, const Structure* structure,
                             int64_t index);
  // Adds all rows of a ragged block. Returns false, without changes, if some row does not fit.
  bool AppendRagged(const Block& block);
  // Removes the columns of a row that did not join.
  void DropUnjoined();
  // Converts empty lists, in the added or the existing rows, to the form of the other rows.
  void FitEmptyLists(std::span<Column> added, const Structure* structure, int64_t rows);
  // Adds rows of a block, starting at row `row`.
  void Include(Stretch stretch, const Structure* structure, const Block& block, int64_t row);
  // Whether an array like `came` may join leaf `leaf`; it may determine the dtype.
  bool Joins(size_t leaf, const Tensor& came, std::vector<DType>* dtypes) const;
  void Reset();

  const StageLabel& stage_;
  int64_t rows_ = 0;
  StructureRef structure_;
  std::vector<DType> dtypes_;
  Origin origin_;  // of the first row; has a file only if all rows are from that file
  size_t leaves_ = 0;
  bool open_ = false;
  std::vector<Stretch> stretches_;
  // The columns of all stretches, perhaps followed by those of a row that has not joined. In one
  // vector, because most stretches are one small row.
  std::vector<Column> columns_;
};

}  // namespace penstock
