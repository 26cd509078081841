// Copying rows into and out of cells.
#include "stages/shuffle/row_store.h"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "runtime/blocking.h"
#include "runtime/platform.h"

namespace penstock {
namespace {

constexpr size_t kMostBytes = 16 << 10;  // per packed row

struct SizeClass {
  size_t number;
  size_t bytes;  // per cell
};

// Steps of 16 bytes up to 512, then 32 classes per power of two.
constexpr SizeClass ClassOf(size_t bytes) {
  if (bytes <= 512) {
    size_t steps = (bytes + 15) / 16;
    return {steps - 1, 16 * steps};
  }
  const int log2 = std::bit_width(bytes - 1) - 1;  // at least 9
  const size_t power = size_t{1} << log2;
  const size_t steps = (32 * (bytes - power) + power - 1) / power;
  return {32 * static_cast<size_t>(log2 - 8) + steps - 1, power + steps * power / 32};
}

// The hardware prefetcher fetches the rest of a long row after a few consecutive lines.
void PrefetchRow(const void* cell, size_t bytes) {
  constexpr size_t kLine = 64, kMost = 8 * kLine;
  const auto* first = static_cast<const uint8_t*>(cell);
  for (size_t at = 0; at < std::min(bytes, kMost); at += kLine) Prefetch(first + at);
}

size_t Footprint(const std::vector<Tensor>& leaves) {
  constexpr size_t kAround = sizeof(Tensor) + 256;  // overhead of the objects around a leaf
  size_t bytes = 0;
  for (const Tensor& leaf : leaves) bytes += kAround + leaf.footprint();
  return bytes;
}

// Foreign memory that need not be copied. Strings are always copied, because one string would pin
// its whole buffer. So are small leaves, because their objects would need more memory than a copy.
bool IsForeign(const Tensor& leaf) {
  constexpr size_t kWorthKeeping = 4 << 10;  // bytes
  return leaf.buffer() && leaf.buffer()->foreign() && !leaf.dtype().is_reference() &&
         leaf.nbytes() >= kWorthKeeping;
}

Shape RowShape(const Tensor& leaf) { return leaf.shape(); }
Shape RowShape(const Column& column) { return column.shape(0); }

size_t LengthAt(const uint8_t* at) {
  size_t length;
  std::memcpy(&length, at, sizeof length);
  return length;
}

}  // namespace

bool RowStore::Packs(const Structure* structure, const std::vector<Column>& columns) {
  return PacksAs(structure, columns);
}

template <typename Values>
bool RowStore::PacksAs(const Structure* structure, const Values& values) {
  if (closed_ || std::any_of(values.begin(), values.end(), IsForeign)) return false;
  if (!structure_) Learn(structure, values);
  closed_ = closed_ || structure != structure_;
  for (size_t i = 0; !closed_ && i < values.size(); ++i) {
    const Tensor& leaf = values[i];
    closed_ = leaf.dtype() != form_[i].dtype || leaf.storage() == Storage::kObjects ||
              !(RowShape(values[i]) == form_[i].shape);
  }
  return !closed_;
}

template <typename Values>
void RowStore::Learn(const Structure* structure, const Values& values) {
  structure_ = structure;
  for (const auto& value : values) {
    const Tensor& leaf = value;
    const Shape shape = RowShape(value);
    const bool string = leaf.dtype().is_reference();
    const size_t numbers = static_cast<size_t>(shape.elements()) * leaf.dtype().itemsize;
    closed_ = closed_ || (string && shape.rank() > 0);
    form_.push_back({leaf.dtype(), shape, string ? sizeof(size_t) : numbers});
    fixed_ += form_.back().bytes;
    strings_ = strings_ || string;
  }
  closed_ = closed_ || values.empty() || fixed_ > kMostBytes;
}

RowStore::Cell RowStore::Put(const std::vector<Column>& columns, int64_t row, Origin origin) {
  return PutRow(columns, row, std::move(origin));
}

template <typename Values>
RowStore::Cell RowStore::PutRow(const Values& values, int64_t row, Origin origin) {
  size_t bytes = fixed_;
  for (size_t i = 0; strings_ && i < form_.size(); ++i) {
    const Tensor& value = values[i];
    if (form_[i].dtype.is_reference()) bytes += value.string(row).size();
  }
  if (bytes > kMostBytes) return nullptr;
  Cell cell = new (Allocate(sizeof(Row) + bytes)) Row{std::move(origin), nullptr};
  uint8_t* to = BytesIn(cell);
  uint8_t* text = to + fixed_;
  for (size_t i = 0; i < form_.size(); ++i) {
    const Leaf& leaf = form_[i];
    const Tensor& value = values[i];
    if (leaf.dtype.is_reference()) {
      std::string_view item = value.string(row);
      size_t length = item.size();
      std::memcpy(to, &length, sizeof length);
      if (length) std::memcpy(text, item.data(), length);
      text += length;
    } else if (leaf.bytes) {
      std::memcpy(to, value.data() + static_cast<size_t>(row) * leaf.bytes, leaf.bytes);
    }
    to += leaf.bytes;
  }
  return cell;
}

RowStore::Cell RowStore::Put(Element&& element) {
  if (PacksAs(element.structure, element.leaves)) {
    if (Cell cell = PutRow(element.leaves, 0, element.origin)) return cell;
  }
  element.KeepAlone();
  void* memory = Allocate(sizeof(Row) + sizeof(Leaves));
  Cell cell = new (memory) Row{std::move(element.origin), element.structure};
  new (BytesIn(cell)) Leaves(std::move(element.leaves));
  kept_bytes_ += Footprint(LeavesIn(cell));
  return cell;
}

void RowStore::Take(std::span<const Cell> cells, Block& out) {
  out.rows = static_cast<int64_t>(cells.size());
  if (cells.empty()) return;
  out.structure = cells[0]->structure ? cells[0]->structure : structure_;
  if (cells[0]->structure) {
    out.elements.reserve(cells.size());
    for (Cell cell : cells) {
      kept_bytes_ -= Footprint(LeavesIn(cell));
      out.elements.push_back({std::move(LeavesIn(cell)), cell->structure, std::move(cell->origin)});
      Drop(cell);
    }
  } else {
    TakePacked(cells, out);
    out.origins.first = out.origins.each[0];
  }
}

void RowStore::TakePacked(std::span<const Cell> cells, Block& out) {
  constexpr size_t kAhead = 4;  // rows
  const auto rows = static_cast<int64_t>(cells.size());
  std::vector<uint8_t*> to;     // destination of the next row of each leaf
  std::vector<int64_t*> spans;  // destination of its span; null unless strings
  std::vector<int64_t> ends(form_.size());
  out.origins.keys.reserve(cells.size());
  out.origins.each.reserve(cells.size());
  size_t at = 0;
  for (const Leaf& leaf : form_) {
    size_t bytes = cells.size() * leaf.bytes;
    if (leaf.dtype.is_reference()) {
      bytes = 0;
      for (Cell cell : cells) bytes += LengthAt(BytesIn(cell) + at);
      BufferRef span = Buffer::Allocate(2 * cells.size() * sizeof(int64_t));
      BufferRef text = Buffer::Allocate(bytes);
      to.push_back(text->data());
      spans.push_back(reinterpret_cast<int64_t*>(span->data()));
      out.columns.push_back(
          Tensor::Packed(leaf.dtype.code, {rows}, std::move(span), std::move(text)));
    } else {
      out.columns.push_back(Tensor::Make(leaf.dtype, leaf.shape.Prepend(rows)));
      to.push_back(out.columns.back().items.mutable_data());
      spans.push_back(nullptr);
    }
    LeaveForeignLockToCopy(bytes);
    at += leaf.bytes;
  }
  for (size_t row = 0; row < cells.size(); ++row) {
    if (row + kAhead < cells.size())
      PrefetchRow(cells[row + kAhead], strings_ ? kMostBytes : sizeof(Row) + fixed_);
    Cell cell = cells[row];
    const uint8_t* from = BytesIn(cell);
    const uint8_t* text = from + fixed_;
    for (size_t i = 0; i < form_.size(); ++i) {
      size_t bytes = form_[i].bytes;
      const uint8_t* item = from;
      from += bytes;
      if (spans[i]) {
        bytes = LengthAt(item);
        item = text;
        text += bytes;
        *spans[i]++ = ends[i];
        *spans[i]++ = ends[i] += static_cast<int64_t>(bytes);
      }
      if (bytes) std::memcpy(to[i], item, bytes);
      to[i] += bytes;
    }
    out.origins.keys.push_back(cell->origin.key);
    out.origins.each.push_back(std::move(cell->origin));
    cell->~Row();
    Free(cell, static_cast<size_t>(text - reinterpret_cast<uint8_t*>(cell)));
  }
}

void RowStore::Drop(Cell cell) {
  const size_t bytes = sizeof(Row) + (cell->structure ? sizeof(Leaves) : BytesOf(cell));
  if (cell->structure) {
    kept_bytes_ -= Footprint(LeavesIn(cell));
    LeavesIn(cell).~Leaves();
  }
  cell->~Row();
  Free(cell, bytes);
}

void RowStore::Move(std::span<Cell* const> all) {
  const size_t old = slabs_.size();
  const size_t old_bytes = std::exchange(slab_bytes_, 0);
  free_.fill(nullptr);
  fresh_bytes_ = 0;
  try {
    for (Cell* cell : all) {
      Cell from = *cell;
      const size_t bytes = from->structure ? sizeof(Leaves) : BytesOf(from);
      Cell to = new (Allocate(sizeof(Row) + bytes)) Row(std::move(*from));
      used_bytes_ -= ClassOf(sizeof(Row) + bytes).bytes;  // the old cell
      if (to->structure) {
        new (BytesIn(to)) Leaves(std::move(LeavesIn(from)));
        LeavesIn(from).~Leaves();
      } else {
        std::memcpy(BytesIn(to), BytesIn(from), bytes);
      }
      from->~Row();
      *cell = to;
    }
  } catch (const std::bad_alloc&) {  // the remaining rows stay in the old memory
    slab_bytes_ += old_bytes;
    return;
  }
  slabs_.erase(slabs_.begin(), slabs_.begin() + static_cast<std::ptrdiff_t>(old));
}

size_t RowStore::BytesOf(Cell cell) const {
  size_t bytes = fixed_;
  const uint8_t* at = BytesIn(cell);
  for (const Leaf& leaf : form_) {
    if (leaf.dtype.is_reference()) bytes += LengthAt(at);
    at += leaf.bytes;
  }
  return bytes;
}

void* RowStore::Allocate(size_t bytes) {
  constexpr size_t kFirstSlab = 64 << 10, kLastSlab = 4 << 20;
  static_assert(ClassOf(sizeof(Row) + kMostBytes).number < kClasses);
  const SizeClass size = ClassOf(bytes);
  void*& first = free_[size.number];
  if (void* cell = first) {
    std::memcpy(&first, cell, sizeof first);
    used_bytes_ += size.bytes;
    return cell;
  }
  if (fresh_bytes_ < size.bytes) {
    size_t slab = std::min(kFirstSlab << std::min<size_t>(slabs_.size(), 10), kLastSlab);
    slabs_.push_back(Buffer::Allocate(slab));
    slab_bytes_ += slab;
    fresh_ = slabs_.back()->data();
    fresh_bytes_ = slab;
  }
  void* cell = fresh_;
  fresh_ += size.bytes;
  fresh_bytes_ -= size.bytes;
  used_bytes_ += size.bytes;
  return cell;
}

void RowStore::Free(void* cell, size_t bytes) {
  const SizeClass size = ClassOf(bytes);
  used_bytes_ -= size.bytes;
  void*& first = free_[size.number];
  std::memcpy(cell, &first, sizeof first);
  first = cell;
}

}  // namespace penstock
