// Values of a feature, read from their lists and made arrays of.
#include <algorithm>
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

void ReadFloats(std::string_view list, ItemList& column) {
  for (WireReader values(list); !values.done();) {
    uint32_t tag = values.Tag();
    if (tag == BytesTag(1)) {
      std::string_view packed = values.Bytes();
      if (packed.size() % sizeof(float)) {
        throw WireError{Format("{} bytes are no number of floats", packed.size()), packed.data()};
      }
      size_t count = packed.size() / sizeof(float);
      if (count) std::memcpy(column.Extend<float>(count), packed.data(), packed.size());
    } else if (tag == Fixed32Tag(1)) {
      const uint8_t* value = values.Fixed(sizeof(float));
      std::memcpy(column.Extend<float>(1), value, sizeof(float));
    } else {
      values.Skip(tag);
    }
  }
}

// Numbers of 7 bits to a byte, of which the last one has no continuation bit.
void ReadPacked(std::string_view packed, ItemList& column) {
  if (packed.empty()) return;
  auto* at = reinterpret_cast<const uint8_t*>(packed.data());
  auto* end = at + packed.size();
  if (end[-1] >= 0x80) throw WireError{"a number is cut off", end - 1};
  WireReader numbers(packed);
  uint64_t first = numbers.Varint();
  *column.Extend<int64_t>(1) = static_cast<int64_t>(first);
  if (numbers.done()) return;
  at = end - numbers.left();
  auto count = static_cast<size_t>(std::count_if(at, end, [](uint8_t b) { return b < 0x80; }));
  auto* out = column.Extend<int64_t>(count);
  if (count == numbers.left()) {
    std::copy(at, end, out);
    return;
  }
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<int64_t>(numbers.Varint());
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

void ReadStrings(std::string_view list, ItemList& column) {
  for (WireReader values(list); !values.done();) {
    uint32_t tag = values.Tag();
    if (tag == BytesTag(1)) {
      std::string_view value = values.Bytes();
      auto begin = reinterpret_cast<int64_t>(value.data());
      *column.Extend<TextSpan>(1) = {begin, begin + static_cast<int64_t>(value.size())};
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

void FeatureValues::Check(int64_t count) const {
  if (count == request_.items) return;
  throw WireError{Format("{} {} of {} expected for shape {}, got {}", request_.items,
                         std::string_view(request_.items == 1 ? "value" : "values"),
                         kKindNames[static_cast<size_t>(request_.kind)], request_.shape.ToString(),
                         count)};
}

void FeatureValues::Add(const FoundValue& feature) {
  int64_t count = feature.found ? Read(feature) : -1;
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
