// Gathers rows of tables.
#include "data/table.h"

#include <string_view>

#include "data/gather_rows.h"
#include "runtime/blocking.h"

namespace penstock {
namespace {

Column GatheredLeaf(const LeafSpec& spec, const std::vector<TableRow>& rows, size_t leaf) {
  const auto count = static_cast<int64_t>(rows.size());
  auto column = [leaf](const TableRow& at) -> const Column& { return at.batch->columns[leaf]; };
  if (rows.empty()) {
    return Tensor::Concat(spec.dtype, spec.shape.Prepend(0), {});
  }
  if (column(rows.front()).ragged()) {
    std::vector<Tensor> items;
    std::vector<const Tensor*> parts;
    items.reserve(rows.size());
    std::vector<int64_t> splits{0};
    for (const TableRow& at : rows) {
      parts.push_back(&items.emplace_back(column(at).Row(at.row)));
      splits.push_back(splits.back() + parts.back()->shape()[0]);
    }
    Shape shape = spec.shape;
    shape[0] = splits.back();
    return {Tensor::Concat(spec.dtype, shape, parts), std::move(splits)};
  }
  const Shape shape = spec.shape.Prepend(count);
  const int64_t items = spec.shape.elements();
  if (spec.dtype.is_reference()) {
    std::vector<std::string_view> found;
    found.reserve(static_cast<size_t>(count * items));
    for (const TableRow& at : rows) {
      const Tensor& strings = column(at).items;
      for (int64_t i = 0; i < items; ++i) found.push_back(strings.string(at.row * items + i));
    }
    return Tensor::Strings(spec.dtype.code, shape, found);
  }
  Tensor gathered = Tensor::Make(spec.dtype, shape);
  LeaveForeignLockToCopy(gathered.nbytes());
  const size_t bytes = static_cast<size_t>(items) * spec.dtype.itemsize;
  GatherRows(gathered.mutable_data(), bytes, count, [&](int64_t i) {
    const TableRow& at = rows[static_cast<size_t>(i)];
    return column(at).items.data() + static_cast<size_t>(at.row) * bytes;
  });
  return gathered;
}

}  // namespace

Block GatherTableRows(const ElementSpec& spec, const std::vector<TableRow>& rows) {
  Block block;
  block.structure = spec.structure;
  block.rows = static_cast<int64_t>(rows.size());
  for (size_t leaf = 0; leaf < spec.leaves.size(); ++leaf) {
    block.columns.push_back(GatheredLeaf(spec.leaves[leaf], rows, leaf));
  }
  return block;
}

}  // namespace penstock
