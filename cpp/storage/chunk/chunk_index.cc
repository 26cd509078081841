// Serialises the header, the index, and their structures and types.
#include "storage/chunk/chunk_index.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "data/foreign_names.h"

namespace penstock {
namespace {

constexpr int kMostNesting = 200;

[[noreturn]] void ThrowUnreadable(std::string_view what) {
  throw Error(ErrorKind::kData, "{}", what);
}

void VisitStructure(StateVisitor& visitor, StructureRef& structure, int depth = 0) {
  using Kind = Structure::Kind;
  auto kind = static_cast<uint64_t>(visitor.saving() ? structure->kind() : Kind::kLeaf);
  visitor.UInt(kind);
  if (depth > kMostNesting || kind > static_cast<uint64_t>(Kind::kRecord)) {
    ThrowUnreadable("a structure of an unknown kind");
  }
  auto as_kind = static_cast<Kind>(kind);
  if (as_kind == Kind::kLeaf || as_kind == Kind::kNone) {
    structure = as_kind == Kind::kLeaf ? Structure::Leaf() : Structure::None();
    return;
  }
  uint64_t count = visitor.saving() ? structure->children().size() : 0;
  visitor.UInt(count);
  std::vector<StructureRef> children;
  std::vector<std::string> names;
  bool named = as_kind != Kind::kTuple;
  for (uint64_t i = 0; i < count; ++i) {
    StructureRef child = visitor.saving() ? structure->children()[i] : nullptr;
    VisitStructure(visitor, child, depth + 1);
    children.push_back(child);
    if (!named) continue;
    std::string name = visitor.saving() ? structure->names()[i] : "";
    visitor.Text(name);
    names.push_back(std::move(name));
  }
  std::string foreign_name = visitor.saving() ? ForeignName(*structure) : "";
  if (named) visitor.Text(foreign_name);
  if (visitor.saving()) return;
  ForeignRef foreign = named ? FindForeign(as_kind, foreign_name, names) : nullptr;
  if (named && !foreign) {
    std::string name = foreign_name.substr(0, foreign_name.find('\n'));
    throw Error(
        ErrorKind::kType,
        "the class or the keys '{}' of its elements cannot be found here, or have other fields; "
        "give the class: structures=[...] of load, cache and snapshot",
        name);
  }
  structure = Structure::Make(as_kind, std::move(children), std::move(names), std::move(foreign));
}

// A number and a NumPy unit, or an empty text.
bool IsTimeUnit(std::string_view unit) {
  constexpr std::string_view kUnits[] = {"Y",  "M",  "W",  "D",  "h",  "m", "s",
                                         "ms", "us", "ns", "ps", "fs", "as"};
  constexpr size_t kMostDigits = 9;  // NumPy stores them in an int
  if (unit.empty()) return true;
  size_t digits = 0;
  while (digits < unit.size() && unit[digits] >= '0' && unit[digits] <= '9') ++digits;
  if (digits > kMostDigits || (digits > 0 && unit[0] == '0')) return false;
  unit.remove_prefix(digits);
  return std::find(std::begin(kUnits), std::end(kUnits), unit) != std::end(kUnits);
}

constexpr uint64_t kMostAddedBytes = 64;  // size of an item of a type added by a package

bool IsTypeName(std::string_view name) {
  constexpr size_t kLongest = 64;
  return !name.empty() && name.size() <= kLongest &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
         });
}

void VisitDType(StateVisitor& visitor, DType& dtype) {
  auto code = static_cast<uint64_t>(dtype.code);
  std::string parameter = visitor.saving() ? std::string(dtype.parameter()) : "";
  uint64_t itemsize = dtype.itemsize;
  visitor.UInt(code);
  visitor.Text(parameter);
  visitor.UInt(itemsize);
  if (visitor.saving()) return;
  if (code > static_cast<uint64_t>(TypeCode::kAdded)) ThrowUnreadable("an unknown dtype");
  auto type = static_cast<TypeCode>(code);
  if (type == TypeCode::kAdded) {
    if (!IsTypeName(parameter) || itemsize == 0 || itemsize > kMostAddedBytes) {
      ThrowUnreadable("an unknown dtype");
    }
    dtype = DType::Added(parameter, static_cast<uint32_t>(itemsize));
    return;
  }
  bool time = type == TypeCode::kDatetime64 || type == TypeCode::kTimedelta64;
  if (time ? !IsTimeUnit(parameter) : !parameter.empty()) {
    ThrowUnreadable("a dtype with a unit that there is not");
  }
  dtype = parameter.empty() ? DType::Of(type) : DType::OfTime(type, parameter);
  if (!dtype.is_reference() && dtype.itemsize != itemsize) {
    ThrowUnreadable("a dtype that has another size on this machine");
  }
}

}  // namespace

void VisitHeader(StateVisitor& visitor, ChunkHeader& header) {
  visitor.Text(header.fingerprint);
  visitor.Text(header.randomness);
}

void VisitSpec(StateVisitor& visitor, ElementSpec& spec) {
  VisitStructure(visitor, spec.structure);
  uint64_t count = spec.leaves.size();
  visitor.UInt(count);
  if (!visitor.saving()) {
    if (count != static_cast<uint64_t>(spec.structure->leaves())) {
      ThrowUnreadable("as many leaves as the structure has not");
    }
    spec.leaves.resize(count);
  }
  for (LeafSpec& leaf : spec.leaves) {
    VisitDType(visitor, leaf.dtype);
    std::vector<int64_t> sizes(leaf.shape.dims().begin(), leaf.shape.dims().end());
    visitor.Ints(sizes);
    if (visitor.saving()) continue;
    if (sizes.size() > kMaxRank) ThrowUnreadable("a shape of too many axes");
    for (int64_t size : sizes) {
      if (size < -1) ThrowUnreadable("a shape with a size below -1");
    }
    leaf.shape = Shape(sizes.data(), sizes.size());
  }
}

void VisitEntry(StateVisitor& visitor, ChunkEntry& entry) {
  auto codec = static_cast<uint64_t>(entry.codec);
  visitor.UInt(entry.offset);
  visitor.UInt(entry.stored);
  visitor.UInt(entry.bytes);
  visitor.UInt(entry.layout);
  visitor.UInt(entry.crc);
  visitor.UInt(codec);
  visitor.Int(entry.rows);
  visitor.Bool(entry.keyed);
  visitor.UInt(entry.first_key);
  visitor.Int(entry.first_index);
  if (codec > static_cast<uint64_t>(Codec::kZstd)) ThrowUnreadable("an unknown compression");
  entry.codec = static_cast<Codec>(codec);
  if (entry.rows < 1 || entry.rows > kMostChunkRows) {
    ThrowUnreadable(
        Format("a chunk of {} rows, at most {} were expected", entry.rows, kMostChunkRows));
  }
  if (entry.first_index < -1 || entry.first_index > std::numeric_limits<int64_t>::max() / 2) {
    ThrowUnreadable("a row with an index that no source has");
  }
}

}  // namespace penstock
