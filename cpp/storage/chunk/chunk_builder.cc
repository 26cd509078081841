// Converts elements to the bytes of a chunk.
#include <algorithm>
#include <bit>
#include <cstring>

#include "data/element_text.h"
#include "runtime/blocking.h"
#include "storage/chunk/chunk.h"
#include "storage/chunk/chunk_layout.h"

namespace penstock {
namespace {

// Large enough to be worth a read, small enough for the CPU cache.
constexpr size_t kEnough = size_t{1} << 20;

// The size of a leaf including its table of spans; also for strings that a foreign runtime holds.
size_t BytesOf(const Tensor& leaf) {
  if (!leaf.dtype().is_reference()) return leaf.nbytes();
  size_t bytes = 0;
  for (int64_t i = 0, n = leaf.elements(); i < n; ++i) bytes += leaf.string(i).size() + kSpanSize;
  return bytes;
}

// Fills a chunk's memory in order, or only counts. Skipped bytes are set to zero, so that equal
// rows produce equal bytes.
class Filler {
 public:
  explicit Filler(uint8_t* to) : to_(to) {}
  size_t at() const { return at_; }
  void Put(const void* data, size_t size) {
    if (to_ && size) std::memcpy(to_ + at_, data, size);
    at_ += size;
  }
  void PutInt(int64_t item) { Put(&item, sizeof(item)); }
  void Align(size_t alignment) {
    size_t end = AlignUp(at_, alignment);
    if (to_) std::memset(to_ + at_, 0, end - at_);
    at_ = end;
  }

 private:
  uint8_t* to_;
  size_t at_ = 0;
};

using Pieces = std::vector<std::vector<Tensor>>;

void FillSizes(const Pieces& pieces, size_t leaf, Filler& to) {
  for (auto& piece : pieces) {
    Shape row = piece[leaf].shape().WithoutFirst();
    for (int64_t i = 0; i < piece[leaf].shape()[0]; ++i) {
      for (int64_t size : row.dims()) to.PutInt(size);
    }
  }
  to.Align(kColumnAlign);
}

void FillNumbers(const Pieces& pieces, size_t leaf, bool varies, Filler& to) {
  for (auto& piece : pieces) {
    int64_t rows = piece[leaf].shape()[0];
    size_t bytes = piece[leaf].nbytes();
    if (!varies) {
      to.Put(piece[leaf].data(), bytes);
      continue;
    }
    bytes /= static_cast<size_t>(rows);
    for (int64_t i = 0; i < rows; ++i) {
      to.Align(kRowAlign);
      to.Put(piece[leaf].data() + static_cast<size_t>(i) * bytes, bytes);
    }
  }
}

// Writes the begin and end of each string, relative to the chunk's beginning, then the strings.
void FillStrings(const Pieces& pieces, size_t leaf, Filler& to) {
  int64_t items = 0;
  for (auto& piece : pieces) items += piece[leaf].elements();
  auto end = static_cast<int64_t>(to.at() + static_cast<size_t>(items) * kSpanSize);
  for (auto& piece : pieces) {
    for (int64_t i = 0, n = piece[leaf].elements(); i < n; ++i) {
      to.PutInt(end);
      end += static_cast<int64_t>(piece[leaf].string(i).size());
      to.PutInt(end);
    }
  }
  for (auto& piece : pieces) {
    for (int64_t i = 0, n = piece[leaf].elements(); i < n; ++i) {
      std::string_view item = piece[leaf].string(i);
      to.Put(item.data(), item.size());
    }
  }
}

[[noreturn]] void ThrowOpaque(const char* stage, const Structure* structure, size_t leaf,
                              const Block& block, int64_t row) {
  std::string path = structure->LeafPath(static_cast<int>(leaf));
  const int64_t index = block.index(row);
  throw Error(ErrorKind::kType,
              "{}: arrays, numbers and strings were expected, got a Python object in element {}{}; "
              "files cannot hold it: turn it into arrays or strings in a map before, or keep the "
              "elements in memory (cache without a filename)",
              std::string_view(stage), index, path.empty() ? path : ", leaf " + path)
      .In({{stage, "", ""}, index, RowText(block, row)}, block.origin(row));
}

}  // namespace

bool ChunkBuilder::Joins(const Structure* structure, const std::vector<Tensor>& columns) {
  if (form_.rows == 0) {
    form_.layout = {structure, {}};
    for (auto& column : columns) {
      form_.layout.leaves.push_back({column.dtype(), column.shape().WithoutFirst(), false});
    }
    return true;
  }
  ElementSpec& layout = form_.layout;
  if (layout.structure != structure) return false;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (layout.leaves[i].dtype != columns[i].dtype() ||
        layout.leaves[i].shape.rank() + 1 != columns[i].shape().rank()) {
      return false;
    }
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    Shape& shape = layout.leaves[i].shape;
    for (int d = 0; d < shape.rank(); ++d) {
      if (shape[d] != columns[i].shape()[d + 1]) shape[d] = -1;
    }
  }
  return true;
}

// How many more rows of this size fit. The number of rows in a full chunk is a power of two, like
// many batch sizes, so that batches tend to begin where chunks do.
int64_t ChunkBuilder::Room(size_t row_bytes) const {
  auto most = static_cast<uint64_t>(kMostChunkRows);
  if (row_bytes > 0) most = std::min<uint64_t>(most, std::bit_ceil(1 + (kEnough - 1) / row_bytes));
  return std::max<int64_t>(static_cast<int64_t>(most) - form_.rows, form_.rows == 0);
}

bool ChunkBuilder::full() const {
  auto rows = static_cast<uint64_t>(form_.rows);
  return rows >= kMostChunkRows || bytes_ >= 2 * kEnough ||
         (bytes_ >= kEnough && std::has_single_bit(rows));
}

int64_t ChunkBuilder::Add(const Block& block, int64_t first, const char* stage) {
  if (full()) return 0;
  std::vector<Tensor> columns;
  const Structure* structure = block.structure;
  int64_t count = 1;
  if (!block.stacked()) {
    const Element& element = block.elements[first];
    structure = element.structure;
    for (auto& leaf : element.leaves) {
      columns.push_back(leaf.Reshaped(leaf.shape().Prepend(1)));
    }
  } else {
    size_t row_bytes = 0;
    bool strings = false;
    for (const Tensor& column : block.columns) {
      strings = strings || column.dtype().is_reference();
      if (!strings) row_bytes += column.nbytes() / static_cast<size_t>(block.rows);
    }
    // The sizes of strings are unknown until each one is read.
    if (!strings) count = std::min(block.rows - first, Room(row_bytes));
    if (count == 0) return 0;
    for (const Tensor& column : block.columns) columns.push_back(column.Rows(first, count));
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].dtype().code == TypeCode::kObject && columns[i].elements() > 0) {
      ThrowOpaque(stage, structure, i, block, first);
    }
  }
  if (!Joins(structure, columns)) return 0;
  for (auto& column : columns) bytes_ += BytesOf(column);
  form_.rows += count;
  pieces_.push_back(std::move(columns));
  if (!origins_) return count;
  for (int64_t row = first; row < first + count; ++row) {
    keys_.push_back(block.key(row));
    indices_.push_back(block.index(row));
  }
  return count;
}

BufferRef ChunkBuilder::Take(ChunkForm* form) {
  LeaveForeignLock();
  form_.keyed = false;
  if (origins_) {
    form_.first_key = keys_[0];
    form_.first_index = indices_[0];
    for (size_t i = 0; i < keys_.size() && !form_.keyed; ++i) {
      bool counts = indices_[i] == form_.first_index + static_cast<int64_t>(i);
      form_.keyed = keys_[i] != form_.first_key + i || (!counts && form_.first_index >= 0);
    }
  }
  auto fill = [this](Filler to) {
    if (form_.keyed) {
      to.Put(keys_.data(), keys_.size() * sizeof(uint64_t));
      to.Put(indices_.data(), indices_.size() * sizeof(int64_t));
    }
    for (size_t i = 0; i < form_.layout.leaves.size(); ++i) {
      const LeafSpec& leaf = form_.layout.leaves[i];
      to.Align(kColumnAlign);
      if (Varies(leaf)) FillSizes(pieces_, i, to);
      if (leaf.dtype.is_reference())
        FillStrings(pieces_, i, to);
      else
        FillNumbers(pieces_, i, Varies(leaf), to);
    }
    to.Align(kColumnAlign);
    return to.at();
  };
  BufferRef bytes = Buffer::Allocate(fill(Filler(nullptr)));
  fill(Filler(bytes->data()));
  *form = std::exchange(form_, ChunkForm());
  pieces_.clear();
  keys_.clear();
  indices_.clear();
  bytes_ = 0;
  return bytes;
}

}  // namespace penstock
