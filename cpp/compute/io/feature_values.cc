// Values of a feature, read from their lists and made arrays of.
#include <algorithm>
#include <bit>
#include <cstring>

#include "compute/io/feature.h"
#include "data/error.h"

namespace penstock {
namespace {

constexpr std::string_view kKindNames[] = {"nothing", "bytes", "float32", "int64"};

size_t ItemSize(ValueKind kind) {
  if (kind == ValueKind::kFloat) return sizeof(float);
  return kind == ValueKind::kInt64 ? sizeof(int64_t) : sizeof(TextSpan);
}

void ReadPackedFloats(std::string_view packed, ItemList& column) {
  if (packed.size() % sizeof(float)) {
    throw WireError{Format("{} bytes are no number of floats", packed.size()), packed.data()};
  }
  size_t count = packed.size() / sizeof(float);
  if (count) std::memcpy(column.Extend<float>(count), packed.data(), packed.size());
}

void ReadFloats(std::string_view list, ItemList& column) {
  for (WireReader values(list); !values.done();) {
    uint32_t tag = values.Tag();
    if (tag == BytesTag(1)) {
      ReadPackedFloats(values.Bytes(), column);
    } else if (tag == Fixed32Tag(1)) {
      const uint8_t* value = values.Fixed(sizeof(float));
      std::memcpy(column.Extend<float>(1), value, sizeof(float));
    } else {
      values.Skip(tag);
    }
  }
}

static_assert(std::endian::native == std::endian::little, "words are taken as they lie");

constexpr size_t kWord = sizeof(uint64_t);
constexpr uint64_t kStops = 0x8080808080808080;  // of the last bytes of numbers, not set there

// The number of 7 bits to a byte at [first, last], the only byte without a continuation bit. The
// eight bytes that end with it are in the example, too, however few of them are its own: packed
// numbers are inside of a list, which is inside of a feature, a map's entry, a map and an example,
// and each of the five has two bytes before its content.
uint64_t PackedNumber(const uint8_t* first, const uint8_t* last) {
  const auto before = static_cast<size_t>(last - first);
  if (before >= kWord) [[unlikely]] {
    return WireReader({reinterpret_cast<const char*>(first), before + 1}).Varint();
  }
  uint64_t word = WordAt(last - (kWord - 1)) >> 8 * (kWord - 1 - before);
  // Groups of 7 bits come together: two, four, eight of them.
  word = (word & 0x007F007F007F007F) | (word & 0x7F007F007F007F00) >> 1;
  word = (word & 0x00003FFF00003FFF) | (word & 0x3FFF00003FFF0000) >> 2;
  return (word & 0x000000000FFFFFFF) | (word & 0x0FFFFFFF00000000) >> 4;
}

// Numbers of 7 bits to a byte, of which the last one has no continuation bit. Where each ends is
// seen for eight bytes together, so that no number waits for the one before it.
void ReadPacked(std::string_view packed, ItemList& column) {
  if (packed.empty()) return;
  auto* at = reinterpret_cast<const uint8_t*>(packed.data());
  auto* const end = at + packed.size();
  if (end[-1] >= 0x80) throw WireError{"a number is cut off", end - 1};
  if (!column.HasRoom(packed.size())) {  // each has a byte at least
    column.MakeRoom(
        static_cast<size_t>(std::count_if(at, end, [](uint8_t b) { return b < 0x80; })));
  }
  auto* const begin = column.Next<int64_t>();
  auto* out = begin;
  for (const uint8_t* first = at; at < end; at += kWord) {
    const auto left = static_cast<size_t>(end - at);
    uint64_t stops;
    if (left >= kWord) {
      stops = ~WordAt(at) & kStops;
    } else {
      stops = ~WordAt(end - kWord) & kStops;
      stops >>= 8 * (kWord - left);
    }
    for (; stops != 0; stops &= stops - 1) {
      const uint8_t* last = at + (std::countr_zero(stops) >> 3);
      *out++ = static_cast<int64_t>(PackedNumber(first, last));
      first = last + 1;
    }
  }
  column.Extend<int64_t>(static_cast<size_t>(out - begin));
}

void ReadInt64s(std::string_view list, ItemList& column) {
  for (WireReader values(list); !values.done();) {
    uint32_t tag = values.Tag();
    if (tag == BytesTag(1)) {
      ReadPacked(values.Bytes(), column);
    } else if (tag == VarintTag(1)) {
      auto value = static_cast<int64_t>(values.Varint());
      *column.Extend<int64_t>(1) = value;
    } else {
      values.Skip(tag);
    }
  }
}

void AddString(std::string_view value, ItemList& column) {
  auto begin = reinterpret_cast<int64_t>(value.data());
  *column.Extend<TextSpan>(1) = {begin, begin + static_cast<int64_t>(value.size())};
}

void ReadStrings(std::string_view list, ItemList& column) {
  for (WireReader values(list); !values.done();) {
    uint32_t tag = values.Tag();
    if (tag == BytesTag(1)) {
      AddString(values.Bytes(), column);
    } else {
      values.Skip(tag);
    }
  }
}

// The lists of a Feature that count, and their kind: those after the last one of another kind.
struct Lists {
  uint32_t kind = 0;
  std::vector<std::string_view> lists;

  void Add(std::string_view feature) {
    for (WireReader fields(feature); !fields.done();) {
      uint32_t tag = fields.Tag();
      if (tag != BytesTag(1) && tag != BytesTag(2) && tag != BytesTag(3)) {
        fields.Skip(tag);
        continue;
      }
      if (tag >> 3 != kind) lists.clear();
      kind = tag >> 3;
      lists.push_back(fields.Bytes());
    }
  }
};

}  // namespace

ItemList::ItemList(size_t itemsize, size_t capacity)
    : itemsize_(itemsize), capacity_(capacity), buffer_(Buffer::Allocate(itemsize * capacity)) {}

void ItemList::Grow(size_t least) {
  constexpr size_t kFewest = 8;
  size_t capacity = std::max({least, 2 * capacity_, kFewest});
  BufferRef larger = Buffer::Allocate(capacity * itemsize_);
  if (size_) std::memcpy(larger->data(), buffer_->data(), size_ * itemsize_);
  buffer_ = std::move(larger);
  capacity_ = capacity;
}

FeatureValues::FeatureValues(const FeatureRequest& request, int64_t examples)
    : request_(request),
      column_(ItemSize(request.kind), static_cast<size_t>(examples * request.items)) {
  if (request.form != FeatureForm::kFixed) ends_.reserve(static_cast<size_t>(examples));
}

void FeatureValues::ReadList(std::string_view list) {
  if (request_.kind == ValueKind::kFloat)
    ReadFloats(list, column_);
  else if (request_.kind == ValueKind::kInt64)
    ReadInt64s(list, column_);
  else
    ReadStrings(list, column_);
}

int64_t FeatureValues::Read(const FoundValue& feature) {
  size_t before = column_.size();
  const std::string_view first = feature.first;
  auto kind = static_cast<uint32_t>(request_.kind);
  if (feature.more.empty() && !first.empty() && first[0] == static_cast<char>(BytesTag(kind))) {
    WireReader fields(first);
    fields.Tag();
    std::string_view list = fields.Bytes();
    if (fields.done()) {
      ReadList(list);
      return static_cast<int64_t>(column_.size() - before);
    }
  }
  Lists found;
  found.Add(first);
  for (std::string_view piece : feature.more) found.Add(piece);
  if (found.kind == 0) return -1;
  if (found.kind != kind) {
    throw WireError{
        Format("{} was expected, got a list of {}", kKindNames[kind], kKindNames[found.kind])};
  }
  for (std::string_view list : found.lists) ReadList(list);
  return static_cast<int64_t>(column_.size() - before);
}

void FeatureValues::RefuseCount(int64_t count) const {
  throw WireError{Format("{} {} of {} expected for shape {}, got {}", request_.items,
                         std::string_view(request_.items == 1 ? "value" : "values"),
                         kKindNames[static_cast<size_t>(request_.kind)], request_.shape.ToString(),
                         count)};
}

void FeatureValues::Add(const FoundValue& feature) { Close(feature.found ? Read(feature) : -1); }

void FeatureValues::AddWhole(const uint8_t* at, const uint8_t* end) {
  const uint8_t* values = at;
  if (!EnterOnly(values, end, BytesTag(static_cast<uint32_t>(request_.kind))) ||
      !EnterOnly(values, end, BytesTag(1))) [[unlikely]] {
    return AddUnusual({reinterpret_cast<const char*>(at), static_cast<size_t>(end - at)});
  }
  const size_t before = column_.size();
  const std::string_view content(reinterpret_cast<const char*>(values),
                                 static_cast<size_t>(end - values));
  if (request_.kind == ValueKind::kFloat)
    ReadPackedFloats(content, column_);
  else if (request_.kind == ValueKind::kInt64)
    ReadPacked(content, column_);
  else
    AddString(content, column_);
  Close(static_cast<int64_t>(column_.size() - before));
}

void FeatureValues::AddUnusual(std::string_view feature) { Add({true, feature, {}}); }

void FeatureValues::Keep(int64_t examples) {
  if (request_.form == FeatureForm::kFixed) {
    column_.Keep(static_cast<size_t>(examples * request_.items));
    return;
  }
  if (ends_.size() > static_cast<size_t>(examples)) ends_.resize(static_cast<size_t>(examples));
  column_.Keep(ends_.empty() ? 0 : static_cast<size_t>(ends_.back()));
}

void FeatureValues::Close(int64_t count) {
  if (request_.form == FeatureForm::kFixed && count == request_.items) return;
  if (count < 0 && !request_.may_miss) throw WireError{"it is missing and has no default_value"};
  if (request_.form == FeatureForm::kFixed) {
    if (count < 0)
      column_.Append(request_.fill.data(), static_cast<size_t>(request_.items));
    else
      Check(count);
    return;
  }
  if (request_.form == FeatureForm::kPadded && count > 0 && count % request_.items != 0) {
    throw WireError{Format("a multiple of {} values was expected for rows of shape {}, got {}",
                           request_.items, request_.shape.ToString(), count)};
  }
  ends_.push_back(static_cast<int64_t>(column_.size()));
}

void FeatureValues::AddList(const FoundValue& list) {
  if (!list.found && !request_.may_miss) {
    throw WireError{"it is missing; FixedLenSequenceFeature(..., allow_missing=True) takes that"};
  }
  FoundValue step;
  auto read = [&](std::string_view piece) {
    for (WireReader steps(piece); !steps.done();) {
      uint32_t tag = steps.Tag();
      if (tag != BytesTag(1)) {
        steps.Skip(tag);
        continue;
      }
      step.first = steps.Bytes();
      int64_t count = std::max<int64_t>(Read(step), 0);
      if (request_.form == FeatureForm::kPadded)
        Check(count);
      else
        step_ends_.push_back(static_cast<int64_t>(column_.size()));
    }
  };
  read(list.first);
  for (std::string_view piece : list.more) read(piece);
  bool padded = request_.form == FeatureForm::kPadded;
  ends_.push_back(static_cast<int64_t>(padded ? column_.size() : step_ends_.size()));
}

}  // namespace penstock
