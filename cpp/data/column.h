// One leaf of consecutive rows, and its layout.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "data/tensor.h"

namespace penstock {

// The start of each row's items, followed by the end of the last row's.
using Splits = std::shared_ptr<const std::vector<int64_t>>;

// The tensor's storage determines whether items are numbers, strings or foreign objects. Items are
// assigned to rows in one of three ways:
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
  // From one row.
  static Column Of(const Tensor& row) { return row.Reshaped(row.shape().Prepend(1)); }
  // From separate rows: stacked if all have one shape, otherwise ragged; nullopt if they differ in
  // more than the size of their first axis.
  static std::optional<Column> Of(const std::vector<const Tensor*>& rows);

  // For code that does not depend on how items are assigned to rows.
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
  // The number of axes of a row.
  int rank() const { return items.shape().rank() - stacked(); }
  Tensor Row(int64_t row) const { return stacked() ? items.Row(row) : OwnRow(row); }
  // Of a row.
  Shape shape(int64_t row) const;
  // The shape of a stacked array that the first `rows` rows fit into.
  Shape Cover(int64_t rows) const;

  // Whether the column is own: its rows are arrays whose memory no one else refers to. If each row
  // is passed on once, its consumer may write to it. Check before the first row is passed on.
  bool own() const {
    return stacked() && items.storage() == Storage::kDense && items.shape().rank() > 1 &&
           items.buffer() && items.buffer()->unique();
  }

  Column Slice(int64_t begin, int64_t count) const;
  // The same rows of an own column, as a column that is also own. Other rows go to other consumers.
  Column Divide(int64_t begin, int64_t count) const;
  // A copy of the rows with these ascending indices.
  Column Take(const std::vector<int64_t>& rows) const;
  // The same rows of a ragged column, without the items before the first and after the last row.
  Column FromZero() const;
  // `rows` rows in stacked form, even if constant; empty if a constant cannot be repeated.
  Column Stacked(int64_t rows) const;

  // For rows with axes: the items of all rows concatenated along their first axis, and the range of
  // one row among them.
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
