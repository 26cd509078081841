// Reading chunks as a whole, or straight into the batches that their rows will be.
#include "storage/chunk/chunk_cursor.h"

#include <algorithm>

#include "runtime/blocking.h"
#include "storage/chunk/chunk_layout.h"
#include "storage/crc32c.h"

namespace penstock {
namespace {

constexpr size_t kMostSlab = size_t{64} << 20;  // bytes: "everything in one batch" is no batch

uint32_t CrcOfZeros(size_t size, uint32_t crc) {
  const uint8_t zeros[kColumnAlign] = {};
  return Crc32c(zeros, size, crc);
}

}  // namespace

void ChunkCursor::Seek(int64_t row) {
  row_ = row;
  held_.clear();
  slab_ = Slab();
}

Block ChunkCursor::Next(int64_t max_rows) {
  if (row_ >= index_->rows()) return Block::AtEnd();
  bool loaded = chunk_.rows() > 0 && row_ >= chunk_first_ && row_ < chunk_first_ + chunk_.rows();
  if (held_.empty() && !loaded) Load(max_rows);
  Block block;
  if (held_.empty()) {
    int64_t first = row_ - chunk_first_;
    block = chunk_.Rows(first, std::min(max_rows, chunk_.rows() - first));
  } else {
    Held& held = held_.front();
    block = std::move(held.origins);
    block.rows = std::min(max_rows, held.rows);
    block.placed = true;
    if (block.rows == held.rows) {
      block.columns = std::move(held.columns);
      held_.pop_front();
    } else {  // asked for less than a batch
      int64_t rest = held.rows - block.rows;
      for (Tensor& column : held.columns) {
        block.columns.push_back(column.Rows(0, block.rows));
        column = column.Rows(block.rows, rest);
      }
      held.rows = rest;
      held.origins.structure = block.structure;
      held.origins.origins = block.origins.Slice(block.rows, rest);
      block.origins = block.origins.Slice(0, block.rows);
    }
  }
  row_ += block.rows;
  block.end = row_ == index_->rows();
  return block;
}

bool ChunkCursor::Places(const FixedColumns& fixed) const {
  if (batch_rows_ < 2 || fixed.offsets.empty()) return false;
  size_t row = 0;
  for (size_t bytes : fixed.row_bytes) row += bytes;
  return row <= kMostSlab / static_cast<size_t>(batch_rows_);
}

void ChunkCursor::Load(int64_t max_rows) {
  LeaveForeignLock();
  size_t number = index_->ChunkOf(row_);
  const ChunkEntry& entry = index_->entries()[number];
  auto fixed = FixedColumnsOf(index_->form(entry));
  bool begin = row_ == entry.first && entry.codec == Codec::kNone;
  try {
    if (fixed && begin && fixed->bytes == entry.stored && Places(*fixed)) {
      ReadPlaced(number, *fixed, max_rows);
      // The last batch may stay short; nobody but its owner is to hold it.
      if (number + 1 == index_->entries().size()) slab_ = Slab();
    } else {
      slab_ = Slab();
      chunk_ = index_->Read(number);
      chunk_first_ = entry.first;
    }
  } catch (...) {
    Seek(entry.first + entry.rows);
    throw;
  }
}

// The slabs that the rows of a chunk belong to, each with how many of them: what is left of the
// batch that is being filled, then whole ones.
std::vector<std::pair<ChunkCursor::Slab, int64_t>> ChunkCursor::Divide(const ChunkForm& form,
                                                                       int64_t max_rows) {
  std::vector<std::pair<Slab, int64_t>> parts;
  bool goes_on = slab_.filled < slab_.rows && slab_.rows - slab_.filled == max_rows &&
                 slab_.layout == form.layout;
  Slab slab = goes_on ? std::exchange(slab_, Slab()) : Slab();
  for (int64_t left = form.rows; left > 0;) {
    if (slab.filled == slab.rows) {
      int64_t rows = parts.empty() ? std::min(max_rows, batch_rows_) : batch_rows_;
      slab = Slab{form.layout, rows, 0, {}};
      for (auto& leaf : form.layout.leaves) {
        slab.columns.push_back(Tensor::Make(leaf.dtype, leaf.shape.Prepend(rows)));
      }
    }
    int64_t count = std::min(left, slab.rows - slab.filled);
    parts.emplace_back(slab, count);
    slab.filled += count;
    left -= count;
  }
  slab_ = slab.filled < slab.rows ? std::move(slab) : Slab();
  return parts;
}

void ChunkCursor::ReadPlaced(size_t chunk, const FixedColumns& fixed, int64_t max_rows) {
  const ChunkEntry& entry = index_->entries()[chunk];
  ChunkForm form = index_->form(entry);
  auto parts = Divide(form, max_rows);
  uint32_t crc = 0;
  uint64_t at = 0;  // in the chunk
  auto read = [&](void* to, size_t size) {
    if (!index_->ReadAt(entry.offset + at, to, size)) {
      index_->ThrowDamaged(chunk, "the file has become shorter");
    }
    crc = Crc32c(to, size, crc);
    at += size;
  };
  BufferRef keys = Buffer::Allocate(fixed.keys_bytes);
  if (fixed.keys_bytes > 0) read(keys->data(), fixed.keys_bytes);
  for (size_t leaf = 0; leaf < fixed.offsets.size(); ++leaf) {
    crc = CrcOfZeros(fixed.offsets[leaf] - at, crc);
    at = fixed.offsets[leaf];
    for (auto& [slab, count] : parts) {
      size_t row = fixed.row_bytes[leaf];
      uint8_t* to = slab.columns[leaf].mutable_data() + static_cast<size_t>(slab.filled) * row;
      read(to, static_cast<size_t>(count) * row);
    }
  }
  crc = CrcOfZeros(fixed.bytes - at, crc);
  if (crc != entry.crc) index_->ThrowDamaged(chunk, "their checksum does not match");
  for (size_t leaf = 0; leaf < fixed.offsets.size(); ++leaf) {
    for (auto& [slab, count] : parts) {
      size_t row = fixed.row_bytes[leaf];
      const uint8_t* from = slab.columns[leaf].data() + static_cast<size_t>(slab.filled) * row;
      if (!AreItems(form.layout.leaves[leaf].dtype, from, static_cast<size_t>(count) * row)) {
        index_->ThrowDamaged(chunk, "a bool is neither 0 nor 1");
      }
    }
  }
  chunk_ = ChunkRows();
  int64_t first = 0;
  for (auto& [slab, count] : parts) {
    Held held{count, {}, {}};
    for (Tensor& column : slab.columns) held.columns.push_back(column.Rows(slab.filled, count));
    held.origins.structure = form.layout.structure;
    held.origins.rows = count;
    ReadKeys(form, keys->data(), first, held.origins);
    held_.push_back(std::move(held));
    first += count;
  }
}

}  // namespace penstock
