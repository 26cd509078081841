// Compares rows, and copies them into columns.
#include "compute/program/row_columns.h"

#include <cstring>

namespace penstock {
namespace {

constexpr size_t kSmallLeaf = 4 << 10;  // bytes; copying more may cost more than it saves

bool IsSmall(const Tensor& leaf) {
  if (leaf.shape().rank() == kMaxRank) return false;
  if (!leaf.dtype().is_reference()) return leaf.nbytes() <= kSmallLeaf;
  if (leaf.dtype().code == TypeCode::kObject) return false;
  size_t bytes = 0;
  for (int64_t i = 0; i < leaf.elements() && bytes <= kSmallLeaf; ++i) {
    bytes += sizeof(void*) + leaf.string(i).size();
  }
  return bytes <= kSmallLeaf;
}

}  // namespace

std::vector<Column> ColumnsOf(const std::vector<Element>& rows) {
  const Element& like = rows.front();
  for (const Element& row : rows) {
    if (row.structure != like.structure) return {};
  }
  std::vector<Column> columns;
  std::vector<const Tensor*> leaves;
  for (size_t i = 0; i < like.leaves.size(); ++i) {
    leaves.clear();
    for (const Element& row : rows) {
      if (!(row.leaves[i].shape() == like.leaves[i].shape()) || !IsSmall(row.leaves[i])) return {};
      leaves.push_back(&row.leaves[i]);
    }
    std::optional<Column> column = Column::Of(leaves);
    if (!column) return {};
    columns.push_back(*std::move(column));
  }
  return columns;
}

Tensor ReadShapes(const FillOp& op, const std::vector<Element>& rows, size_t leaf) {
  std::vector<Tensor> input(1);
  LeafSpec spec;
  Tensor column;
  for (size_t row = 0; row < rows.size(); ++row) {
    input[0] = rows[row].leaves[leaf];
    LeafSpec own = op.Output(input);
    if (row == 0) {
      if (own.dtype.is_reference() || own.shape.rank() == kMaxRank) return {};
      spec = own;
      column = Tensor::Make(spec.dtype, spec.shape.Prepend(static_cast<int64_t>(rows.size())));
    } else if (own != spec) {
      return {};
    }
    size_t bytes = static_cast<size_t>(spec.shape.elements()) * spec.dtype.itemsize;
    Tensor place = Tensor::View(spec.dtype, spec.shape, column.buffer(), row * bytes);
    op.Run(input, place, {});
  }
  return column;
}

}  // namespace penstock
