// Collects the rows of one batch, and makes the batch of them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/block.h"

namespace penstock {

// What all kinds of batches have in common: rows of one structure and one dtype per leaf. A kind
// says which shapes may stand in one batch, and how a leaf of the batch is made.
class BatchRows {
 public:
  // `stage` names the caller in errors; it must outlive the rows.
  explicit BatchRows(const StageLabel& stage) : stage_(stage) {}
  virtual ~BatchRows() = default;
  BatchRows(const BatchRows&) = delete;
  BatchRows& operator=(const BatchRows&) = delete;

  int64_t rows() const { return rows_; }
  // How many rows the batch will have at most.
  virtual void SetCapacity(int64_t) {}
  // Adds the rows of a block (its error and end are the caller's). A row that does not fit is left
  // out, and its error is returned; `rest` then holds the rows after it. `index` is the position of
  // the block's first row in the input.
  std::optional<Error> Append(Block&& block, int64_t index, Block* rest);
  // The batch; empty again afterwards, and also when this throws.
  Element Take();

 protected:
  struct Stretch {
    size_t first_column = 0;
    int64_t rows = 0;
    SlabRows slab = {};  // where the dense columns lie
  };
  // One for each leaf; where they are ragged their splits begin with 0.
  std::span<Column> columns(const Stretch& stretch) {
    return {columns_.data() + stretch.first_column, leaves_};
  }
  std::span<const Column> columns(const Stretch& stretch) const {
    return {columns_.data() + stretch.first_column, leaves_};
  }
  const std::string& stage() const { return stage_.kind; }
  std::vector<Stretch>& stretches() { return stretches_; }
  const std::vector<Stretch>& stretches() const { return stretches_; }

  // The dtype of a leaf of the batch. It may still change while all rows of the leaf are empty,
  // because an empty array of strings does not show which kind of strings they would be.
  DType dtype(size_t leaf) const { return dtypes_[leaf]; }
  // Whether the first row has empty lists, so that a later row may decide their dtype.
  bool open() const { return open_; }

  // Called with what the batch will be made of, before the first row joins and when a dtype becomes
  // known; throws when no batch can be made of such rows.
  virtual void Begin(const Structure* structure, const std::vector<DType>& dtypes) {
    (void)structure;
    (void)dtypes;
  }
  // Why rows of this stacked column cannot join the batch: "has shape ..."; nullopt when they can.
  virtual std::optional<std::string> Misfit(size_t leaf, const Tensor& column) const = 0;
  // Whether the rows of a leaf may differ in the size of their first axis.
  virtual bool MayDiffer(size_t leaf) const {
    (void)leaf;
    return false;
  }
  virtual void Keep(Stretch stretch) { stretches_.push_back(std::move(stretch)); }
  virtual Tensor Join(size_t leaf) = 0;
  // All items of a leaf, one after the other, under a shape.
  Tensor JoinItems(size_t leaf, const Shape& shape) const;
  // The leaves and the structure of the batch.
  virtual Element Assemble(const Structure* structure);
  virtual void Clear() {}

 private:
  std::optional<Error> Check(std::span<const Column> columns, const Structure* structure,
                             int64_t index);
  // Adds all rows of a ragged block; false, with nothing changed, when some may not join.
  bool AppendRagged(const Block& block);
  // Leaves out the columns of a row that did not join.
  void DropUnjoined();
  // Lets empty lists among rows that are about to join, or among those that did, adopt the form of
  // the others.
  void FitEmptyLists(std::span<Column> added, const Structure* structure, int64_t rows);
  // Takes up rows of a block, from row `row` on.
  void Include(Stretch stretch, const Structure* structure, const Block& block, int64_t row);
  // Whether an array of `came` may join leaf `leaf`; it may make its dtype known.
  bool Joins(size_t leaf, const Tensor& came, std::vector<DType>* dtypes) const;
  void Reset();

  const StageLabel& stage_;
  int64_t rows_ = 0;
  StructureRef structure_;
  std::vector<DType> dtypes_;
  Origin origin_;  // of the first row; of its file only if all are
  size_t leaves_ = 0;
  bool open_ = false;
  std::vector<Stretch> stretches_;
  // Of all stretches, and after them perhaps those of a row that has not joined: in one vector,
  // since most stretches are one small row.
  std::vector<Column> columns_;
};

}  // namespace penstock
