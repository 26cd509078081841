// Reads the values of a feature from their lists, and converts them to arrays.
#include "compute/io/feature_values.h"

#include <algorithm>

#include "data/error.h"

namespace penstock {
namespace {

constexpr std::string_view kKindNames[] = {"nothing", "bytes", "float32", "int64"};

size_t ItemSize(ValueKind kind) {
  if (kind == ValueKind::kFloat) return sizeof(float);
  return kind == ValueKind::kInt64 ? sizeof(int64_t) : sizeof(TextSpan);
}

// The effective lists of a Feature and their kind: those after the last list of another kind.
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

FeatureValues::FeatureValues(const FeatureRequest& request, int64_t examples)
    : request_(request),
      read_numbers_(ReadNumbersOf(ChosenInstructionSet())),
      column_(ItemSize(request.kind), static_cast<size_t>(examples * request.items)) {
  if (request.form != FeatureForm::kFixed) ends_.reserve(static_cast<size_t>(examples));
}

// Values are in separate fields, or packed.
void FeatureValues::ReadList(std::string_view list) {
  const ValueKind kind = request_.kind;
  for (WireReader values(list); !values.done();) {
    const uint32_t tag = values.Tag();
    if (tag == BytesTag(1)) {
      std::string_view packed = values.Bytes();
      auto* at = reinterpret_cast<const uint8_t*>(packed.data());
      AddContent(at, at + packed.size());
    } else if (kind == ValueKind::kFloat && tag == Fixed32Tag(1)) {
      const uint8_t* value = values.Fixed(sizeof(float));
      column_.AddFloats(value, value + sizeof(float));
    } else if (kind == ValueKind::kInt64 && tag == VarintTag(1)) {
      *column_.Extend<int64_t>(1) = static_cast<int64_t>(values.Varint());
    } else {
      values.Skip(tag);
    }
  }
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
  AddPacked(values, end);
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

void FeatureValues::CloseOther(int64_t count) {
  if (count < 0 && !request_.may_miss) {
    throw WireError{.what = "it is missing or has no values, and has no default_value",
                    .missing = true};
  }
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
