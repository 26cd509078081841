// One leaf of consecutive rows, and how it is laid out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "data/tensor.h"

namespace penstock {

// Where the items of each row begin, and as the last entry where those of the last row end.
using Splits = std::shared_ptr<const std::vector<int64_t>>;

// The storage of the tensor says whether items are numbers, strings or boxed objects. They belong
// to rows in one of three ways:
// - stacked: one item along the first axis for each row;
// - ragged: a row has the items [splits[row], splits[row + 1]) along the first axis;
// - constant: the tensor is the item of every row, without an axis of rows.
struct Column {
  Column() = default;
  Column(Tensor stacked) : items(std::move(stacked)) {}
  Column(Tensor ragged, Splits ends) : items(std::move(ragged)), splits(std::move(ends)) {}
  Column(Tensor ragged, std::vector<int64_t> ends)
      : Column(std::move(ragged), std::make_shared<const std::vector<int64_t>>(std::move(ends))) {}
  static Column Constant(Tensor item);
  // Of one row.
  static Column Of(const Tensor& row) { return row.Reshaped(row.shape().Prepend(1)); }
  // A column of separate rows: stacked if they are of one shape, else ragged; nullopt if they
  // differ in more than the size of their first axis.
  static std::optional<Column> Of(const std::vector<const Tensor*>& rows);

  // For code to which it does not matter how the items belong to rows.
  operator const Tensor&() const { return items; }

  Tensor items;
  Splits splits;
  bool constant = false;

  // Items along the first axis.
  struct Range {
    int64_t begin, count;
  };

  bool ragged() const { return splits != nullptr; }
  bool stacked() const { return !splits && !constant; }
  DType dtype() const { return items.dtype(); }
  // How many axes a row has.
  int rank() const { return items.shape().rank() - stacked(); }
  Tensor Row(int64_t row) const { return stacked() ? items.Row(row) : OwnRow(row); }
  // Of a row.
  Shape shape(int64_t row) const;
  // The shape of stacked rows into which the first `rows` of these fit.
  Shape Cover(int64_t rows) const;

  // Whether its rows are arrays to whose memory no one else refers: who gives out each row once may
  // let its user write to it. Asked before the first row is given out.
  bool own() const {
    return stacked() && items.storage() == Storage::kDense && items.shape().rank() > 1 &&
           items.buffer() && items.buffer()->unique();
  }

  Column Slice(int64_t begin, int64_t count) const;
  // The same rows of an own column, as a column that is own too: other rows of it go elsewhere.
  Column Divide(int64_t begin, int64_t count) const;
  // The rows of these numbers, which ascend; a copy of them.
  Column Take(const std::vector<int64_t>& rows) const;
  // The same rows of a ragged column, without the items before the first row and after the last
  // one.
  Column FromZero() const;
  // `rows` rows in stacked form, also of a constant column; empty when a constant cannot be
  // repeated.
  Column Stacked(int64_t rows) const;

  // For rows that have axes. The items of all rows along their own first axis, one row after the
  // other, and those of a row among them.
  Tensor Flat() const;
  Range RangeOf(int64_t row) const {
    if (splits) {
      const int64_t* begin = splits->data() + row;
      return {begin[0], begin[1] - begin[0]};
    }
    const int64_t each = items.shape()[constant ? 0 : 1];
    return {constant ? 0 : row * each, each};
  }

 private:
  Tensor OwnRow(int64_t row) const;
};

}  // namespace penstock
