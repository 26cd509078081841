// Converts the bytes of a chunk to elements.
#include <bit>
#include <cstring>
#include <optional>

#include "data/checked_sizes.h"
#include "storage/chunk/chunk.h"
#include "storage/chunk/chunk_layout.h"

namespace penstock {
namespace {

static_assert(std::endian::native == std::endian::little,
              "chunks are little-endian, and used as they lie");

constexpr size_t kKeyBytes = sizeof(uint64_t) + sizeof(int64_t);

[[noreturn]] void ThrowDamaged() {
  throw Error(ErrorKind::kData, "the rows do not fill their chunk as they should");
}

// a * b + c; throws on overflow.
size_t CheckedMulAdd(size_t a, size_t b, size_t c) {
  const std::optional<uint64_t> product = CheckedMultiply(a, b);
  const std::optional<uint64_t> sum = product ? CheckedAdd(*product, c) : std::nullopt;
  if (!sum) ThrowDamaged();
  return *sum;
}

size_t Aligned(size_t at) {
  return CheckedMulAdd(at, 1, kColumnAlign - 1) / kColumnAlign * kColumnAlign;
}

size_t RowItems(const Shape& shape) {
  size_t items = 1;
  for (int64_t size : shape.dims()) {
    if (size < 0) ThrowDamaged();
    items = CheckedMulAdd(items, static_cast<size_t>(size), 0);
  }
  return items;
}

int64_t IntAt(const BufferRef& bytes, size_t at) {
  int64_t item;
  std::memcpy(&item, bytes->data() + at, sizeof(item));
  return item;
}

}  // namespace

std::optional<FixedColumns> FixedColumnsOf(const ChunkForm& form) {
  FixedColumns fixed;
  auto rows = static_cast<size_t>(form.rows);
  size_t at = form.keyed ? CheckedMulAdd(rows, kKeyBytes, 0) : 0;
  fixed.keys_bytes = at;
  for (auto& leaf : form.layout.leaves) {
    if (leaf.dtype.is_reference() || Varies(leaf) || leaf.shape.rank() == kMaxRank) {
      return std::nullopt;
    }
    at = Aligned(at);
    fixed.offsets.push_back(at);
    fixed.row_bytes.push_back(CheckedMulAdd(RowItems(leaf.shape), leaf.dtype.itemsize, 0));
    at = CheckedMulAdd(rows, fixed.row_bytes.back(), at);
  }
  fixed.bytes = Aligned(at);
  return fixed;
}

void ReadKeys(const ChunkForm& form, const uint8_t* keys, int64_t first, Block& block) {
  if (!form.keyed) {
    block.origins.first.key = form.first_key + static_cast<uint64_t>(first);
    block.origins.first.index = form.first_index < 0 ? -1 : form.first_index + first;
    return;
  }
  auto count = static_cast<size_t>(block.rows);
  block.origins.keys.resize(count);
  std::memcpy(block.origins.keys.data(), keys + static_cast<size_t>(first) * sizeof(uint64_t),
              count * sizeof(uint64_t));
  if (count) block.origins.first.key = block.origins.keys[0];
  std::memcpy(&block.origins.first.index,
              keys + static_cast<size_t>(form.rows + first) * sizeof(uint64_t), sizeof(int64_t));
}

bool AreItems(const DType& dtype, const uint8_t* data, size_t size) {
  if (dtype.code != TypeCode::kBool) return true;
  uint8_t all = 0;
  for (size_t i = 0; i < size; ++i) all |= data[i];
  return all <= 1;
}

ChunkRows::ChunkRows(ChunkForm form, BufferRef bytes)
    : form_(std::move(form)), bytes_(std::move(bytes)) {
  if (form_.rows < 1) ThrowDamaged();
  size_t at = form_.keyed ? CheckedMulAdd(static_cast<size_t>(form_.rows), kKeyBytes, 0) : 0;
  for (auto& leaf : form_.layout.leaves) {
    stacked_ = stacked_ && !Varies(leaf);
    columns_.push_back(ReadColumn(leaf, at));
  }
  if (AlignUp(at, kColumnAlign) != bytes_->size()) ThrowDamaged();
  if (columns_.empty()) stacked_ = false;  // elements without leaves
}

ChunkRows::Column ChunkRows::ReadColumn(const LeafSpec& leaf, size_t& at) const {
  auto rows = static_cast<size_t>(form_.rows);
  auto check = [this](size_t end) {
    if (end > bytes_->size()) ThrowDamaged();
    return end;
  };
  Column column;
  at = check(AlignUp(at, kColumnAlign));
  bool varies = Varies(leaf);
  size_t items = 0;
  if (varies) {
    auto rank = static_cast<size_t>(leaf.shape.rank());
    size_t sizes = at;
    at = check(AlignUp(check(CheckedMulAdd(CheckedMulAdd(rows, rank, 0), sizeof(int64_t), at)),
                       kColumnAlign));
    for (size_t row = 0; row < rows; ++row) {
      Shape shape = leaf.shape;
      for (size_t d = 0; d < rank; ++d) {
        shape[static_cast<int>(d)] = IntAt(bytes_, sizes + (row * rank + d) * sizeof(int64_t));
      }
      column.shapes.push_back(shape);
      if (leaf.dtype.is_reference()) column.offsets.push_back(items);
      items = CheckedMulAdd(RowItems(shape), 1, items);
    }
  } else {
    items = CheckedMulAdd(rows, RowItems(leaf.shape), 0);
  }
  // Opaque objects can only be written as empty arrays.
  if (leaf.dtype.code == TypeCode::kObject && items > 0) ThrowDamaged();
  Shape all = varies ? Shape{static_cast<int64_t>(items)} : leaf.shape.Prepend(form_.rows);
  if (leaf.dtype.is_reference()) {
    size_t table = at;
    at = check(CheckedMulAdd(items, kSpanSize, at));
    auto end = static_cast<int64_t>(at);
    for (size_t i = 0; i < items; ++i) {
      size_t span = table + i * kSpanSize;
      if (IntAt(bytes_, span) != end) ThrowDamaged();
      int64_t next = IntAt(bytes_, span + sizeof(int64_t));
      if (next < end || next > static_cast<int64_t>(bytes_->size())) ThrowDamaged();
      end = next;
    }
    at = static_cast<size_t>(end);
    column.stacked = Tensor::Packed(leaf.dtype.code, all, bytes_, bytes_, table / kSpanSize);
  } else if (varies) {
    for (auto& shape : column.shapes) {
      at = check(AlignUp(at, kRowAlign));
      column.offsets.push_back(at);
      at = check(CheckedMulAdd(RowItems(shape), leaf.dtype.itemsize, at));
      size_t begin = column.offsets.back();
      if (!AreItems(leaf.dtype, bytes_->data() + begin, at - begin)) ThrowDamaged();
    }
  } else {
    size_t begin = at;
    at = check(CheckedMulAdd(items, leaf.dtype.itemsize, at));
    if (!AreItems(leaf.dtype, bytes_->data() + begin, at - begin)) ThrowDamaged();
    column.stacked = Tensor::View(leaf.dtype, all, bytes_, begin);
  }
  return column;
}

Tensor ChunkRows::Leaf(size_t number, int64_t row) const {
  const Column& column = columns_[number];
  if (column.shapes.empty()) return column.stacked.Row(row);
  const Shape& shape = column.shapes[static_cast<size_t>(row)];
  size_t offset = column.offsets[static_cast<size_t>(row)];
  const DType& dtype = form_.layout.leaves[number].dtype;
  if (!dtype.is_reference()) return Tensor::View(dtype, shape, bytes_, offset);
  return column.stacked.Rows(static_cast<int64_t>(offset), shape.elements()).Reshaped(shape);
}

Block ChunkRows::Rows(int64_t first, int64_t count) const {
  Block block;
  block.structure = form_.layout.structure;
  block.rows = count;
  ReadKeys(form_, bytes_->data(), first, block);
  if (stacked_) {
    for (auto& column : columns_) block.columns.push_back(column.stacked.Rows(first, count));
    return block;
  }
  Block one;
  one.rows = 1;
  for (int64_t row = first; row < first + count; ++row) {
    Element element;
    element.structure = block.structure;
    for (size_t i = 0; i < columns_.size(); ++i) element.leaves.push_back(Leaf(i, row));
    ReadKeys(form_, bytes_->data(), row, one);
    element.origin = one.origins.first;
    block.elements.push_back(std::move(element));
  }
  block.origins.keys.clear();
  return block;
}

}  // namespace penstock
