// Joining pieces of a batch.
#include "pipeline/stacker.h"

#include <cstring>

#include "pipeline/random.h"
#include "runtime/blocking.h"

namespace penstock {
namespace {

constexpr size_t kLongCopy = 256 << 10;  // worth giving up a foreign lock for

// Whether `next` begins where `piece` ends, in the same memory.
bool Follows(const Tensor& piece, const Tensor& next) {
  return piece.buffer() && piece.buffer() == next.buffer() &&
         piece.offset() + piece.nbytes() == next.offset();
}

}  // namespace

std::optional<Error> Stacker::Mismatch(const std::vector<Tensor>& columns,
                                       const Structure* structure, int64_t index) const {
  if (structure != structure_) {
    return Error(ErrorKind::kInvalidArgument,
                 "{}: element {} has structure {}, the batch began with {}",
                 std::string_view(stage_), index, structure->ToString(), structure_->ToString());
  }
  const Piece& first = pieces_.front();
  for (size_t i = 0; i < columns.size(); ++i) {
    Shape came = columns[i].shape().WithoutFirst();
    Shape began = first.columns[i].shape().WithoutFirst();
    std::string path = structure->LeafPath(static_cast<int>(i));
    if (!path.empty()) path = "'s leaf " + path;
    if (columns[i].dtype() != first.columns[i].dtype()) {
      return Error(
          ErrorKind::kInvalidArgument,
          "{}: element {}{} has dtype {}, the batch began with {}; cast them in a map first",
          std::string_view(stage_), index, path, columns[i].dtype().name(),
          first.columns[i].dtype().name());
    }
    if (!(came == began)) {
      return Error(ErrorKind::kInvalidArgument,
                   "{}: element {}{} has shape {}, the batch began with {}; make the shapes equal "
                   "in a map first",
                   std::string_view(stage_), index, path, came.ToString(), began.ToString());
    }
  }
  return std::nullopt;
}

std::optional<Error> Stacker::Append(Block block, int64_t index, Block* rest) {
  rest->rows = 0;
  for (int64_t row = 0; row < block.rows; ++row) {
    Piece piece;
    const Structure* structure = block.structure;
    if (block.stacked()) {
      piece = {std::move(block.columns), block.rows, block.placed};
    } else {
      Element& element = block.elements[row];
      structure = element.structure;
      piece = {std::move(element.leaves), 1, false};
      for (Tensor& leaf : piece.columns) leaf = leaf.Reshaped(leaf.shape().Prepend(1));
    }
    if (structure_ && structure != structure_) {
      std::vector<int> order = LeafOrder(structure, structure_);
      if (!order.empty()) {  // the same dict in another order of keys
        std::vector<Tensor> columns;
        for (int from : order) columns.push_back(std::move(piece.columns[from]));
        piece.columns = std::move(columns);
        structure = structure_;
      }
    }
    std::optional<Error> error;
    if (pieces_.empty()) {
      structure_ = structure;
      origin_ = block.origin(row);
      origin_.key = ChildKey(origin_.key, ~uint64_t{0});
    } else {
      error = Mismatch(piece.columns, structure, index + row);
    }
    if (error) {
      error->At(block.origin(row));
      *rest = Block();
      if (block.stacked()) {  // all rows of a column are alike: only the first is blamed
        rest->structure = block.structure;
        rest->rows = piece.rows - 1;
        for (Tensor& column : piece.columns) {
          if (rest->rows) rest->columns.push_back(column.Rows(1, rest->rows));
        }
      } else {
        rest->rows = block.rows - row - 1;
        rest->structure = block.structure;
        for (int64_t i = row + 1; i < block.rows; ++i) {
          rest->elements.push_back(std::move(block.elements[i]));
        }
      }
      return error;
    }
    rows_ += piece.rows;
    bool joined = piece.placed && !pieces_.empty() && pieces_.back().placed;
    for (size_t i = 0; joined && i < piece.columns.size(); ++i) {
      joined = Follows(pieces_.back().columns[i], piece.columns[i]);
    }
    if (joined) {
      Piece& last = pieces_.back();
      last.rows += piece.rows;
      for (Tensor& column : last.columns) {
        Shape longer = column.shape();
        longer[0] = last.rows;
        column = column.Reshaped(longer);
      }
    } else {
      pieces_.push_back(std::move(piece));
      if (pieces_.size() > 1) Absorb();
    }
    if (block.stacked()) break;
  }
  return std::nullopt;
}

void Stacker::Absorb() {
  constexpr size_t kLargeRow = 16 << 10;
  constexpr size_t kMost = size_t{1} << 30;  // more may never be filled: "everything in one batch"
  std::vector<Tensor>& first = pieces_.front().columns;
  if (assembled_.empty()) {
    assembled_.resize(first.size());
    for (size_t i = 0; i < first.size(); ++i) {
      size_t row = first[i].dtype().is_reference()
                       ? 0
                       : first[i].nbytes() / static_cast<size_t>(pieces_.front().rows);
      bool fits = row >= kLargeRow && row <= kMost / static_cast<size_t>(capacity_);
      if (!fits || pieces_.front().placed) continue;
      Shape shape = first[i].shape();
      shape[0] = capacity_;
      assembled_[i] = Tensor::Make(first[i].dtype(), shape);
    }
  }
  for (; absorbed_ < pieces_.size(); ++absorbed_) {
    Piece& piece = pieces_[absorbed_];
    for (size_t i = 0; i < assembled_.size(); ++i) {
      if (!assembled_[i].buffer()) continue;
      Tensor& column = piece.columns[i];
      size_t bytes = column.nbytes();
      if (bytes >= kLongCopy) LeaveForeignLock();
      size_t row = bytes / static_cast<size_t>(piece.rows);
      std::memcpy(assembled_[i].mutable_data() + static_cast<size_t>(absorbed_rows_) * row,
                  column.data(), bytes);
      // The first one stays, as what the others are compared with; its memory does not.
      Shape shape = column.shape();
      shape[0] = 0;
      column = Tensor::View(column.dtype(), shape, {}, 0);
    }
    absorbed_rows_ += piece.rows;
  }
}

Tensor Stacker::StackLeaf(size_t leaf, int64_t rows) {
  Tensor& first = pieces_.front().columns[leaf];
  DType dtype = first.dtype();
  Shape shape = first.shape();
  shape[0] = rows;
  if (leaf < assembled_.size() && assembled_[leaf].buffer()) return assembled_[leaf].Rows(0, rows);
  if (!dtype.is_reference()) {
    // Alone, whole, and nobody else's: the batch is there already.
    if (pieces_.size() == 1 && first.buffer() &&
        (first.buffer()->unique() || pieces_.front().placed)) {
      return std::move(first);
    }
    Tensor out = Tensor::Make(dtype, shape);
    if (out.nbytes() >= kLongCopy) LeaveForeignLock();
    uint8_t* to = out.mutable_data();
    for (Piece& piece : pieces_) {
      size_t bytes = piece.columns[leaf].nbytes();
      if (bytes) std::memcpy(to, piece.columns[leaf].data(), bytes);
      to += bytes;
    }
    return out;
  }
  auto count = static_cast<size_t>(shape.elements());
  bool objects = true;
  for (Piece& piece : pieces_)
    objects = objects && piece.columns[leaf].storage() == Storage::kObjects;
  if (objects) {
    if (pieces_.size() == 1) return std::move(first);
    std::vector<BufferRef> owners;
    for (Piece& piece : pieces_) owners.push_back(piece.columns[leaf].buffer());
    BufferRef pointers = Buffer::Allocate(count * sizeof(void*), std::move(owners));
    auto** to = reinterpret_cast<void**>(pointers->data());
    for (Piece& piece : pieces_) {
      const Tensor& column = piece.columns[leaf];
      auto items = static_cast<size_t>(column.elements());
      if (items) std::memcpy(to, column.objects(), items * sizeof(void*));
      to += items;
    }
    return Tensor::Objects(dtype.code, shape, std::move(pointers));
  }
  size_t bytes = 0;
  for (Piece& piece : pieces_) {
    const Tensor& column = piece.columns[leaf];
    for (int64_t i = 0; i < column.elements(); ++i) bytes += column.string(i).size();
  }
  // Strings that lie in a block of their own stay there, unless few would keep a large one.
  constexpr size_t kMostKept = 8;
  if (pieces_.size() == 1 && first.storage() == Storage::kPacked &&
      bytes * kMostKept >= first.buffer()->size()) {
    return std::move(first);
  }
  BufferRef spans = Buffer::Allocate(2 * count * sizeof(int64_t));
  BufferRef text = Buffer::Allocate(bytes);
  auto* span = reinterpret_cast<int64_t*>(spans->data());
  int64_t at = 0;
  for (Piece& piece : pieces_) {
    const Tensor& column = piece.columns[leaf];
    for (int64_t i = 0; i < column.elements(); ++i) {
      std::string_view item = column.string(i);
      if (!item.empty()) std::memcpy(text->data() + at, item.data(), item.size());
      *span++ = at;
      *span++ = at += static_cast<int64_t>(item.size());
    }
  }
  return Tensor::Packed(dtype.code, shape, std::move(spans), std::move(text));
}

Element Stacker::Take() {
  Element batch;
  batch.structure = structure_ ? structure_ : Structure::Leaf();
  batch.origin = std::move(origin_);
  if (!pieces_.empty()) {
    for (size_t leaf = 0; leaf < pieces_.front().columns.size(); ++leaf) {
      batch.leaves.push_back(StackLeaf(leaf, rows_));
    }
  }
  pieces_.clear();
  assembled_.clear();
  absorbed_ = 0;
  absorbed_rows_ = 0;
  structure_ = nullptr;
  origin_ = Origin();
  rows_ = 0;
  return batch;
}

}  // namespace penstock
