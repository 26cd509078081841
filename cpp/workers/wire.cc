// Writes and reads messages.
#include "workers/wire.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "data/foreign.h"
#include "data/foreign_names.h"
#include "data/spec.h"
#include "storage/chunk/chunk_index.h"
#include "workers/worker.h"

namespace penstock {
namespace {

constexpr uint64_t kBulkAlign = 64;
// Up to this many bytes go through the socket: shared memory would cost as much.
constexpr uint64_t kFewBytes = 2048;
// Arrays of at least this many bytes become separate parts in FinishApart.
constexpr uint64_t kApartBytes = 16 << 10;

enum ColumnKind : uint64_t { kStacked, kRagged, kConstant, kInSlab };
enum class BulkPlace : uint64_t { kNone, kHere, kShared, kApart };

uint64_t Padded(uint64_t size) { return (size + kBulkAlign - 1) / kBulkAlign * kBulkAlign; }

// `last`: the file of the previous origin, which is usually the same.
void VisitOrigin(StateVisitor& visitor, Origin& origin, std::shared_ptr<const std::string>& last) {
  enum Kind : uint64_t { kNoFile, kSameFile, kOtherFile };
  visitor.UInt(origin.key);
  visitor.Int(origin.index);
  visitor.Int(origin.offset);
  uint64_t kind = !origin.file ? kNoFile : last && origin.is_of(*last) ? kSameFile : kOtherFile;
  visitor.UInt(kind);
  if (kind == kOtherFile) {
    std::string file = visitor.saving() ? *origin.file : "";
    visitor.Text(file);
    last = std::make_shared<const std::string>(std::move(file));
  }
  if (!visitor.saving() && kind != kNoFile) origin.file = last;
}

// Whether the row is already in its place in the slab.
bool IsInSlab(const Block& block, const Column& column) {
  if (!block.slab || !column.stacked() || block.rows != 1) return false;
  const auto leaf = static_cast<size_t>(&column - block.columns.data());
  const Tensor& items = column.items;
  const Tensor wanted =
      block.slab.slab->Rows(leaf, items.dtype(), items.shape().WithoutFirst(), block.slab.first, 1);
  return wanted.buffer() && wanted.data() == items.data();
}

// The names of the classes of named tuples and records.
std::string ClassNames(const Structure& structure) {
  using Kind = Structure::Kind;
  const bool named = structure.kind() == Kind::kNamedTuple || structure.kind() == Kind::kRecord;
  std::string names = named ? ForeignName(structure) + "\n\n" : "";
  for (const StructureRef& child : structure.children()) names += ClassNames(*child);
  return names;
}

}  // namespace

void CallHeader::Visit(StateVisitor& visitor) {
  visitor.UInt(function);
  visitor.Text(stage.kind);
  visitor.Text(stage.name);
  visitor.Text(stage.function);
  visitor.UInt(random.seed);
  visitor.UInt(random.place.value);
  visitor.UInt(random.path.value);
  visitor.Int(index);
  visitor.Bool(ragged);
  visitor.Bool(tests);
}

uint64_t MessageWriter::Bulk(const void* data, size_t size) {
  const uint64_t at = bulk_size_;
  bulk_.emplace_back(data, size);
  bulk_size_ += Padded(size);
  return at;
}

uint64_t MessageWriter::OwnBulk(std::string bytes) {
  owned_.push_back(std::move(bytes));
  return Bulk(owned_.back().data(), owned_.back().size());
}

void MessageWriter::Put(const Tensor& tensor) {
  const DType dtype = tensor.dtype();
  uint64_t at = 0;
  if (dtype.code == TypeCode::kObject) {
    std::string pickled = TheForeignRuntime().Pickle(tensor);
    uint64_t size = pickled.size();
    head_.UInt(size);
    at = OwnBulk(std::move(pickled));
  } else if (dtype.is_reference()) {
    const auto count = static_cast<size_t>(tensor.elements());
    std::string spans(2 * sizeof(int64_t) * count, '\0');
    std::string bytes;
    for (size_t i = 0; i < count; ++i) {
      const std::string_view item = tensor.string(static_cast<int64_t>(i));
      const auto begin = static_cast<int64_t>(bytes.size());
      const int64_t span[2] = {begin, begin + static_cast<int64_t>(item.size())};
      std::memcpy(spans.data() + i * sizeof span, span, sizeof span);
      bytes += item;
    }
    at = OwnBulk(std::move(spans));
    uint64_t text = OwnBulk(std::move(bytes));
    head_.UInt(text);
  } else {
    at = Bulk(tensor.data(), tensor.nbytes());
  }
  head_.UInt(at);
}

void MessageWriter::PutSpec(ElementSpec spec) {
  std::string classes;
  std::string names = ClassNames(*spec.structure);
  if (!names.empty() && !announced_.contains(names)) {
    classes = TheForeignRuntime().PickleForms(*spec.structure);
    announced_.insert(names);
    fresh_.push_back(std::move(names));
  }
  head_.Text(classes);
  VisitSpec(head_, spec);
}

void MessageWriter::PutOrigins(const RowOrigins& origins) {
  RowOrigins copy = origins;
  std::shared_ptr<const std::string> last;
  VisitOrigin(head_, copy.first, last);
  head_.UInts(copy.keys);
  head_.Ints(copy.offsets);
  uint64_t count = copy.each.size();
  head_.UInt(count);
  for (Origin& origin : copy.each) VisitOrigin(head_, origin, last);
}

void MessageWriter::Put(const Error& error) {
  Error copy = error;
  copy.Visit(head_);
  std::string pickled = error.foreign() ? TheForeignRuntime().PickleError(error) : "";
  head_.Text(pickled);
}

void MessageWriter::Put(const Block& block) {
  int64_t rows = block.rows;
  head_.Int(rows);
  bool stacked = block.stacked();
  head_.Bool(stacked);
  if (stacked && rows > 0) {
    ElementSpec spec{block.structure, {}};
    for (const Column& column : block.columns) {
      spec.leaves.push_back({column.dtype(), column.items.shape(), false});
    }
    PutSpec(std::move(spec));
    for (const Column& column : block.columns) {
      uint64_t kind = IsInSlab(block, column) ? kInSlab
                      : column.ragged()       ? kRagged
                      : column.constant       ? kConstant
                                              : kStacked;
      head_.UInt(kind);
      if (kind == kInSlab) continue;
      if (column.ragged()) {
        std::vector<int64_t> splits = *column.splits;
        head_.Ints(splits);
      }
      Put(column.items);
    }
    bool whole = block.slab && block.slab.first == 0;
    head_.Bool(whole);
    PutOrigins(block.origins);
  }
  std::shared_ptr<const std::string> last;
  for (const Element& element : block.elements) {
    PutSpec(ElementSpec::Of(element));
    for (const Tensor& leaf : element.leaves) Put(leaf);
    Origin origin = element.origin;
    VisitOrigin(head_, origin, last);
  }
  bool end = block.end;
  head_.Bool(end);
  bool failed = block.error.has_value();
  head_.Bool(failed);
  if (failed) Put(*block.error);
}

void MessageWriter::Put(const SlabRows& at, const ElementSpec& row) {
  bool given = static_cast<bool>(at);
  head_.Bool(given);
  if (!given) return;
  PutSpec(row);
  for (size_t i = 0; i < row.leaves.size(); ++i) {
    const LeafSpec& leaf = row.leaves[i];
    const Tensor memory = at.slab->Rows(i, leaf.dtype, leaf.shape, at.first, 1);
    bool shared = memory.buffer() && OwnHeap().Owns(*memory.buffer().get());
    head_.Bool(shared);
    if (!shared) continue;
    Stretch stretch = OwnHeap().Find(*memory.buffer().get());
    uint64_t offset = memory.offset();
    head_.UInt(stretch.offset);
    head_.UInt(stretch.size);
    head_.UInt(offset);
  }
}

std::string MessageWriter::Finish(SharedHeap& heap, std::vector<Stretch>& lent) {
  const BulkPlace place = bulk_size_ == 0           ? BulkPlace::kNone
                          : bulk_size_ <= kFewBytes ? BulkPlace::kHere
                                                    : BulkPlace::kShared;
  std::string message(1, static_cast<char>(kind_));
  StateVisitor visitor(&message);
  auto code = static_cast<uint64_t>(place);
  visitor.UInt(code);
  std::string here;
  BufferRef shared;
  uint8_t* to = nullptr;
  if (place == BulkPlace::kShared) {
    shared = heap.Allocate(bulk_size_);
    Stretch stretch = heap.Lend(*shared.get());
    lent.push_back(stretch);
    visitor.UInt(stretch.offset);
    visitor.UInt(stretch.size);
    visitor.UInt(stretch.slot);
    to = shared->data();
  } else if (place == BulkPlace::kHere) {
    here.resize(bulk_size_);
    to = reinterpret_cast<uint8_t*>(here.data());
  }
  for (auto [data, size] : bulk_) {
    if (size > 0) std::memcpy(to, data, size);
    to += Padded(size);
  }
  if (place == BulkPlace::kHere) visitor.Text(here);
  fresh_.clear();
  return message += small_;
}

MessageWriter::Parts MessageWriter::FinishApart() {
  Parts parts;
  bool open = false;  // the last part is a small one that can be extended
  for (auto [data, size] : bulk_) {
    const std::string_view bytes(static_cast<const char*>(data), size);
    if (size >= kApartBytes) {
      parts.bulk.push_back(bytes);
      open = false;
      continue;
    }
    if (!open) {
      parts.small.emplace_back();
      parts.bulk.emplace_back();
      open = true;
    }
    std::string& part = parts.small.back();
    part += bytes;
    part.resize(Padded(part.size()));
    parts.bulk.back() = part;
  }
  parts.head.assign(1, static_cast<char>(kind_));
  StateVisitor visitor(&parts.head);
  auto code = static_cast<uint64_t>(BulkPlace::kApart);
  visitor.UInt(code);
  fresh_.clear();
  parts.head += small_;
  return parts;
}

MessageReader::MessageReader(std::string_view head, std::vector<BufferRef> bulk)
    : kind_(static_cast<MessageKind>(head.at(0))), head_(head.substr(1), "distribute") {
  uint64_t place = 0;
  head_.UInt(place);
  head_.Demand(place == static_cast<uint64_t>(BulkPlace::kApart), "it is in parts");
  uint64_t at = 0;
  for (BufferRef& part : bulk) {
    const uint64_t size = Padded(part->size());
    bulk_.emplace_back(at, std::move(part));
    at += size;
  }
}

MessageReader::Found MessageReader::Find(uint64_t at, uint64_t size) const {
  auto after = std::upper_bound(bulk_.begin(), bulk_.end(), at,
                                [](uint64_t wanted, auto& part) { return wanted < part.first; });
  head_.Demand(after != bulk_.begin(), "its arrays are there");
  const auto& [begin, buffer] = *std::prev(after);
  head_.Demand(at - begin <= buffer->size() && size <= buffer->size() - (at - begin),
               "its arrays are whole");
  return {buffer, static_cast<size_t>(at - begin)};
}

MessageReader::MessageReader(std::string_view message, PeerHeap& heap) {
  kind_ = static_cast<MessageKind>(message.at(0));
  head_ = StateVisitor(message.substr(1), "worker processes");
  uint64_t place = 0;
  head_.UInt(place);
  if (place == static_cast<uint64_t>(BulkPlace::kShared)) {
    Stretch stretch;
    head_.UInt(stretch.offset);
    head_.UInt(stretch.size);
    head_.UInt(stretch.slot);
    bulk_.emplace_back(0, heap.View(stretch));
  } else if (place == static_cast<uint64_t>(BulkPlace::kHere)) {
    const std::string_view here = head_.TextView();
    bulk_.emplace_back(0, Buffer::Allocate(here.size()));
    std::memcpy(bulk_[0].second->data(), here.data(), here.size());
  }
}

ElementSpec MessageReader::TakeSpec() {
  const std::string_view classes = head_.TextView();
  if (!classes.empty()) TheForeignRuntime().UnpickleForms(classes);
  ElementSpec spec;
  VisitSpec(head_, spec);
  return spec;
}

Tensor MessageReader::TakeTensor(DType dtype, const Shape& shape, size_t few) {
  uint64_t at = 0;
  if (dtype.code == TypeCode::kObject) {
    uint64_t size = 0;
    head_.UInt(size);
    head_.UInt(at);
    const auto* bytes = reinterpret_cast<const char*>(Find(at, size).data());
    return TheForeignRuntime().Unpickle({bytes, size}, shape);
  }
  if (dtype.is_reference()) {
    uint64_t text = 0;
    head_.UInt(text);
    head_.UInt(at);
    const auto count = static_cast<size_t>(shape.elements());
    if (count == 0) return Tensor::Strings(dtype.code, shape, {});
    // Spans are relative to the beginning of their buffer.
    BufferRef spans = Buffer::Allocate(2 * sizeof(int64_t) * count);
    auto* ends = reinterpret_cast<int64_t*>(spans->data());
    std::memcpy(ends, Find(at, spans->size()).data(), spans->size());
    const auto most = static_cast<uint64_t>(ends[2 * count - 1]);  // spans are consecutive
    const Found texts = Find(text, most);
    for (size_t i = 0; i < 2 * count; ++i) ends[i] += static_cast<int64_t>(texts.offset);
    return Tensor::Packed(dtype.code, shape, std::move(spans), texts.buffer);
  }
  head_.UInt(at);
  if (shape.rank() == 0) return Tensor::ScalarBytes(dtype, Find(at, dtype.itemsize).data());
  if (shape.elements() == 0) return Tensor::Make(dtype, shape);
  const Found found =
      Find(at, static_cast<uint64_t>(shape.elements()) * static_cast<uint64_t>(dtype.itemsize));
  const Tensor here = Tensor::View(dtype, shape, found.buffer, found.offset);
  if (here.nbytes() <= few) return here.Alone();
  if (found.buffer->constant()) return here;
  return Tensor::View(dtype, shape, Buffer::Part(found.buffer), found.offset);
}

std::shared_ptr<Slab> MessageReader::TakeSlab(PeerHeap& heap) {
  bool given = false;
  head_.Bool(given);
  if (!given) return nullptr;
  const ElementSpec row = TakeSpec();
  std::vector<Tensor> columns;
  for (const LeafSpec& leaf : row.leaves) {
    bool shared = false;
    head_.Bool(shared);
    Tensor& column = columns.emplace_back();
    if (!shared) continue;
    Stretch stretch;
    uint64_t offset = 0;
    head_.UInt(stretch.offset);
    head_.UInt(stretch.size);
    head_.UInt(offset);
    column = Tensor::View(leaf.dtype, leaf.shape.Prepend(1), heap.Borrow(stretch), offset);
  }
  return std::make_shared<Slab>(1, std::move(columns));
}

RowOrigins MessageReader::TakeOrigins() {
  RowOrigins origins;
  std::shared_ptr<const std::string> last;
  VisitOrigin(head_, origins.first, last);
  head_.UInts(origins.keys);
  head_.Ints(origins.offsets);
  uint64_t count = 0;
  head_.UInt(count);
  for (uint64_t i = 0; i < count; ++i) VisitOrigin(head_, origins.each.emplace_back(), last);
  return origins;
}

Error MessageReader::TakeError() {
  Error error(ErrorKind::kRuntime, "");
  error.Visit(head_);
  const std::string_view pickled = head_.TextView();
  if (!pickled.empty()) error.Becomes(TheForeignRuntime().UnpickleError(pickled));
  return error;
}

Block MessageReader::TakeBlock(const SlabRows& at) {
  Block block;
  head_.Int(block.rows);
  bool stacked = false;
  head_.Bool(stacked);
  if (stacked && block.rows > 0) {
    const ElementSpec spec = TakeSpec();
    block.structure = spec.structure;
    for (const LeafSpec& leaf : spec.leaves) {
      uint64_t kind = 0;
      head_.UInt(kind);
      std::vector<int64_t> splits;
      if (kind == kInSlab) {
        const size_t leaf = block.columns.size();
        block.columns.emplace_back(at.slab->Rows(
            leaf, spec.leaves[leaf].dtype, spec.leaves[leaf].shape.WithoutFirst(), at.first, 1));
        continue;
      }
      if (kind == kRagged) head_.Ints(splits);
      Tensor items = TakeTensor(leaf.dtype, leaf.shape);
      block.columns.push_back(kind == kRagged     ? Column(std::move(items), std::move(splits))
                              : kind == kConstant ? Column::Constant(std::move(items))
                                                  : Column(std::move(items)));
    }
    bool whole = false;
    head_.Bool(whole);
    if (whole) block.slab = at;
    block.origins = TakeOrigins();
  }
  std::shared_ptr<const std::string> last;
  for (int64_t i = 0; !stacked && i < block.rows; ++i) {
    Element element;
    const ElementSpec spec = TakeSpec();
    element.structure = spec.structure;
    for (const LeafSpec& leaf : spec.leaves) {
      element.leaves.push_back(TakeTensor(leaf.dtype, leaf.shape, kFewBytes));
    }
    VisitOrigin(head_, element.origin, last);
    block.structure = element.structure;
    block.elements.push_back(std::move(element));
  }
  head_.Bool(block.end);
  bool failed = false;
  head_.Bool(failed);
  if (failed) block.error = TakeError();
  return block;
}

}  // namespace penstock
