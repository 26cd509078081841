// Finds features of examples by the order of the keys in the previous example.
#include "compute/io/feature_order.h"

#include <algorithm>
#include <cstring>

namespace penstock {
namespace {

constexpr size_t kMostOthers = 1024;  // maximum number of remembered keys that were not requested

// The rest of an entry that begins with `key`; null if it does not, or is encoded in an unusual
// way.
const uint8_t* AfterKey(const uint8_t* at, const uint8_t* end, std::string_view key) {
  const size_t size = 2 + key.size();
  if (static_cast<size_t>(end - at) < size || at[0] != BytesTag(1)) return nullptr;
  if (at[1] >= 0x80 || at[1] != key.size()) return nullptr;
  return std::memcmp(at + 2, key.data(), key.size()) == 0 ? at + size : nullptr;
}

}  // namespace

FeatureOrder::FeatureOrder(const FeatureRequests& requests, std::vector<FeatureValues>& values)
    : requests_(requests), values_(values), begin_{{}, {}, requests.keys().size()} {
  KnownKey* before = &begin_;
  for (size_t i = 0; i < requests.keys().size(); ++i) {
    before->next = MakeKnown(requests.keys()[i], i);
    before = before->next;
  }
}

FeatureOrder::KnownKey* FeatureOrder::MakeKnown(std::string_view key, size_t number) {
  KnownKey& known = keys_.emplace_back(KnownKey{key, {}, number});
  if (!requested(known)) {
    known.head = EntryHead(key, 0);
  } else if (const auto& requests = requests_.of_key(number); requests.size() == 1) {
    auto kind = static_cast<uint32_t>(requests_.all()[requests[0]].kind);
    known.head = EntryHead(key, BytesTag(kind));
    known.values = &values_[requests[0]];
  }
  return &known;
}

bool FeatureOrder::Add(std::string_view example, int64_t number) {
  example_ = number;
  found_ = 0;
  before_ = &begin_;
  try {
    if (AddAll(example)) {
      failures_ = 0;
      return true;
    }
  } catch (const WireError&) {
    // When read in full, it is found again, with the key that comes first among the requests.
  }
  TakeBack();
  failures_ = std::min(failures_ + 1, kMostFailures);
  return false;
}

bool FeatureOrder::AddAll(std::string_view example) {
  for (WireReader fields(example); !fields.done();) {
    uint32_t tag = fields.Tag();
    if (tag != BytesTag(1))
      fields.Skip(tag);
    else if (!AddEntries(fields.Bytes()))
      return false;
  }
  if (found_ < requests_.keys().size()) AddMissing();
  return true;
}

bool FeatureOrder::AddEntries(std::string_view features) {
  auto* at = reinterpret_cast<const uint8_t*>(features.data());
  auto* const end = at + features.size();
  const bool compares = features.size() >= EntryHead::kSpan;
  while (at < end) {
    KnownKey* const next = before_->next;
    size_t length;
    if (compares && next && next->head.Begins(at, end, length)) {
      at += next->head.size();
      if (next->values) {
        if (!See(*next)) return false;  // repeated: the last one counts
        next->values->AddPacked(at, at + length);
      }
      at += length;
      before_ = next;
      continue;
    }
    WireReader entries({reinterpret_cast<const char*>(at), static_cast<size_t>(end - at)});
    uint32_t tag = entries.Tag();
    if (tag == BytesTag(1)) {
      std::string_view entry = entries.Bytes();
      auto* begin = reinterpret_cast<const uint8_t*>(entry.data());
      if (!AddEntry(begin, begin + entry.size())) return false;
    } else {
      entries.Skip(tag);
    }
    at = end - entries.left();
  }
  return true;
}

bool FeatureOrder::AddEntry(const uint8_t* at, const uint8_t* end) {
  KnownKey* known = before_->next;
  const uint8_t* value = known ? AfterKey(at, end, known->key) : nullptr;
  if (!value) {
    known = Lookup({reinterpret_cast<const char*>(at), static_cast<size_t>(end - at)});
    if (!known) return false;
    before_->next = known;
    value = AfterKey(at, end, known->key);
  }
  before_ = known;
  if (!EnterOnly(value, end, BytesTag(2))) return false;
  if (!requested(*known)) return true;
  if (!See(*known)) return false;
  for (size_t request : requests_.of_key(known->number)) values_[request].AddWhole(value, end);
  return true;
}

FeatureOrder::KnownKey* FeatureOrder::Lookup(std::string_view entry) {
  WireReader fields(entry);
  if (fields.done() || fields.Tag() != BytesTag(1)) return nullptr;
  std::string_view key = fields.Bytes();
  auto* begin = reinterpret_cast<const uint8_t*>(entry.data());
  if (!AfterKey(begin, begin + entry.size(), key)) return nullptr;
  const size_t number = requests_.Search(key);
  if (number < requests_.keys().size()) return &keys_[number];
  if (auto found = others_.find(key); found != others_.end()) return found->second;
  if (others_.size() == kMostOthers) return nullptr;
  return others_.emplace(key, MakeKnown(key, number)).first->second;
}

void FeatureOrder::AddMissing() {
  const FoundValue none;
  for (size_t number = 0; number < requests_.keys().size(); ++number) {
    if (keys_[number].example == example_) continue;
    for (size_t request : requests_.of_key(number)) values_[request].Add(none);
  }
}

void FeatureOrder::TakeBack() {
  for (FeatureValues& values : values_) values.Keep(example_);
}

}  // namespace penstock
