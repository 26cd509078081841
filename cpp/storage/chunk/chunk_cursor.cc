// Reads whole chunks, or reads rows directly into their batches.
#include "storage/chunk/chunk_cursor.h"

#include <algorithm>

#include "runtime/blocking.h"
#include "storage/chunk/chunk_layout.h"
#include "storage/crc32c.h"

namespace penstock {
namespace {

constexpr size_t kMostSlab = size_t{64} << 20;  // bytes; larger means "everything in one batch"

uint32_t CrcOfZeros(size_t size, uint32_t crc) {
  const uint8_t zeros[kColumnAlign] = {};
  return Crc32c(zeros, size, crc);
}

}  // namespace

void ChunkCursor::Seek(int64_t row) {
  row_ = row;
  held_ = PendingBlocks();
  left_ = {};
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
    block = held_.Take(max_rows);
  }
  row_ += block.rows;
  block.end = row_ == index_->rows();
  return block;
}

bool ChunkCursor::FillsSlabs(const FixedColumns& fixed) const {
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
    if (fixed && begin && fixed->bytes == entry.stored && FillsSlabs(*fixed)) {
      ReadIntoSlabs(number, *fixed, max_rows);
      // The last batch may remain incomplete, and should then be the only owner of its memory.
      if (number + 1 == index_->entries().size()) left_ = {};
    } else {
      left_ = {};
      chunk_ = index_->Read(number);
      chunk_first_ = entry.first;
    }
  } catch (...) {
    Seek(entry.first + entry.rows);
    throw;
  }
}

// Divides the rows of a chunk among slabs: the rest of the batch that is being filled, then whole
// batches. Their memory is not written yet.
std::vector<Block> ChunkCursor::Divide(const ChunkForm& form, int64_t max_rows) {
  std::vector<Block> blocks;
  bool goes_on = left_ && left_.slab->rows() - left_.first == max_rows && layout_ == form.layout;
  SlabRows next = goes_on ? std::exchange(left_, {}) : SlabRows();
  layout_ = form.layout;
  for (int64_t left = form.rows; left > 0;) {
    if (!next) {
      int64_t rows = blocks.empty() ? std::min(max_rows, batch_rows_) : batch_rows_;
      next = {std::make_shared<Slab>(rows), 0};
    }
    Block& block = blocks.emplace_back();
    block.structure = form.layout.structure;
    block.rows = std::min(left, next.slab->rows() - next.first);
    block.slab = next;
    for (size_t i = 0; i < form.layout.leaves.size(); ++i) {
      const LeafSpec& leaf = form.layout.leaves[i];
      block.columns.push_back(next.slab->Rows(i, leaf.dtype, leaf.shape, next.first, block.rows));
    }
    left -= block.rows;
    next.first += block.rows;
    if (next.first == next.slab->rows()) next = {};
  }
  left_ = std::move(next);
  return blocks;
}

void ChunkCursor::ReadIntoSlabs(size_t chunk, const FixedColumns& fixed, int64_t max_rows) {
  const ChunkEntry& entry = index_->entries()[chunk];
  ChunkForm form = index_->form(entry);
  std::vector<Block> blocks = Divide(form, max_rows);
  uint32_t crc = 0;
  uint64_t at = 0;  // within the chunk
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
    for (Block& block : blocks) {
      Tensor& column = block.columns[leaf].items;
      read(column.mutable_data(), column.nbytes());
    }
  }
  crc = CrcOfZeros(fixed.bytes - at, crc);
  if (crc != entry.crc) index_->ThrowDamaged(chunk, "their checksum does not match");
  int64_t first = 0;
  for (Block& block : blocks) {
    for (const Tensor& column : block.columns) {
      if (!AreItems(column.dtype(), column.data(), column.nbytes())) {
        index_->ThrowDamaged(chunk, "a bool is neither 0 nor 1");
      }
    }
    ReadKeys(form, keys->data(), first, block);
    first += block.rows;
  }
  chunk_ = ChunkRows();
  held_.Add(std::move(blocks));
}

}  // namespace penstock
