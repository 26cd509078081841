// Parses the requests for features, and finds features by key.
#include <cstring>

#include "compute/io/feature.h"
#include "compute/io/item_list.h"
#include "data/error.h"

namespace penstock {
namespace {

// The row of numbers of a feature, as ops/features.py writes it.
enum Place { kKey, kForm, kKind, kText, kNarrow, kMayMiss, kRank, kDims, kPlaces = kDims + 8 };

TypeCode TypeOf(ValueKind kind, bool text) {
  if (kind == ValueKind::kFloat) return TypeCode::kFloat32;
  if (kind == ValueKind::kInt64) return TypeCode::kInt64;
  return text ? TypeCode::kText : TypeCode::kBytes;
}

std::vector<uint8_t> AsItems(const Tensor& tensor) {
  if (!tensor.dtype().is_reference()) return {tensor.data(), tensor.data() + tensor.nbytes()};
  std::vector<uint8_t> items(static_cast<size_t>(tensor.elements()) * sizeof(TextSpan));
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    std::string_view text = tensor.string(i);
    auto begin = reinterpret_cast<int64_t>(text.data());
    TextSpan span{begin, begin + static_cast<int64_t>(text.size())};
    std::memcpy(items.data() + static_cast<size_t>(i) * sizeof(span), &span, sizeof(span));
  }
  return items;
}

// Reads key and value of a map entry. If the value is in several fields, those after the first go
// to `more`, which must be empty.
void ReadEntry(std::string_view entry, std::string_view* key, std::string_view* value,
               std::vector<std::string_view>& more) {
  bool any = false;
  for (WireReader fields(entry); !fields.done();) {
    uint32_t tag = fields.Tag();
    if (tag == BytesTag(1)) {
      *key = fields.Bytes();
    } else if (tag == BytesTag(2)) {
      std::string_view piece = fields.Bytes();
      if (any)
        more.push_back(piece);
      else
        *value = piece;
      any = true;
    } else {
      fields.Skip(tag);
    }
  }
}

}  // namespace

FeatureRequests::FeatureRequests(const Args& args, const std::string& name) {
  const std::vector<Tensor>& leaves = args.Nested(name).leaves;
  const Tensor &keys = leaves.at(0), &rows = leaves.at(1);
  for (int64_t i = 0; i < keys.elements(); ++i) keys_.emplace_back(keys.string(i));
  for (size_t i = 0; i < keys_.size(); ++i) numbers_.emplace(keys_[i], i);
  of_key_.resize(keys_.size());
  auto count = static_cast<size_t>(rows.elements() / kPlaces);
  auto* row = reinterpret_cast<const int64_t*>(rows.data());
  for (size_t i = 0; i < count; ++i, row += kPlaces) {
    FeatureRequest request;
    request.key = static_cast<size_t>(row[kKey]);
    of_key_.at(request.key).push_back(i);
    request.form = static_cast<FeatureForm>(row[kForm]);
    request.kind = static_cast<ValueKind>(row[kKind]);
    request.type = TypeOf(request.kind, row[kText] != 0);
    request.narrow_splits = row[kNarrow] != 0;
    request.may_miss = row[kMayMiss] != 0;
    request.shape = Shape(row + kDims, static_cast<size_t>(row[kRank]));
    request.items = request.shape.elements();
    request.otherwise = leaves.at(2 + i);
    request.fill = AsItems(request.otherwise);
    all_.push_back(std::move(request));
  }
}

size_t FeatureRequests::Search(std::string_view key) const {
  auto found = numbers_.find(key);
  return found == numbers_.end() ? keys_.size() : found->second;
}

void FeatureRequests::Forget(std::vector<FoundValue>& found) const {
  found.resize(keys_.size());
  for (FoundValue& value : found) {
    value.found = false;
    value.first = {};
    value.more.clear();
  }
}

void FeatureRequests::Find(std::string_view map, std::vector<FoundValue>& found) const {
  std::vector<std::string_view> more;
  size_t guess = 0;
  for (WireReader entries(map); !entries.done();) {
    uint32_t tag = entries.Tag();
    if (tag != BytesTag(1)) {
      entries.Skip(tag);
      continue;
    }
    std::string_view key, value;
    ReadEntry(entries.Bytes(), &key, &value, more);
    size_t number = NumberOf(key, guess);
    if (number < found.size()) {
      found[number].found = true;
      found[number].first = value;
      if (!more.empty() || !found[number].more.empty()) found[number].more = more;
      guess = number + 1;
    }
    more.clear();
  }
}

}  // namespace penstock
