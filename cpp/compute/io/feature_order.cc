// Features of examples, found by the order of the keys in the example before.
#include "compute/io/feature_order.h"

#include <algorithm>
#include <cstring>

namespace penstock {
namespace {

constexpr size_t kKeyWord = sizeof(uint64_t);
constexpr size_t kHead = 2;           // bytes of a tag and of a length below 128
constexpr size_t kLongestKey = 0x7F;  // that has such a length
constexpr size_t kMostOthers = 1024;  // keys that nobody requested and that are remembered
constexpr auto kNoKey = static_cast<size_t>(-1);

}  // namespace

FeatureOrder::FeatureOrder(const FeatureRequests& requests, std::vector<FeatureValues>& values)
    : requests_(requests), values_(values), seen_(requests.keys().size(), -1) {
  const std::vector<std::string>& names = requests.keys();
  keys_.reserve(names.size() + 1);
  for (size_t i = 0; i < names.size(); ++i) {
    MakeKnown(names[i], i);
    keys_[i].next = i + 1;
  }
  // No entry begins with it: what comes before the first key, and after the last one.
  keys_.push_back({{}, kNoKey, 0, 0, 0, 0, names.size(), 0});
  before_ = names.size();
}

size_t FeatureOrder::MakeKnown(std::string_view key, size_t number) {
  const size_t index = keys_.size();
  KnownKey known{key, kHead + key.size(), 0, 0, 0, 0, number, index};
  std::string begin{static_cast<char>(BytesTag(1)), static_cast<char>(key.size())};
  begin += key;
  if (key.size() > kLongestKey) known.size = kNoKey;  // always looked up
  const size_t bytes = std::min(begin.size(), kKeyWord);
  std::memset(&known.mask, 0xFF, bytes);
  std::memcpy(&known.first, begin.data(), bytes);
  known.last_at = begin.size() - bytes;
  std::memcpy(&known.last, begin.data() + known.last_at, bytes);
  keys_.push_back(known);
  return index;
}

bool FeatureOrder::Add(std::string_view example, int64_t number) {
  example_ = number;
  found_ = 0;
  before_ = seen_.size();
  limit_ = reinterpret_cast<const uint8_t*>(example.data()) + example.size();
  try {
    if (AddAll(example)) {
      failures_ = 0;
      return true;
    }
  } catch (const WireError&) {
    // Read in full it is found again, with the key that comes first among the requests.
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
  if (found_ < seen_.size()) AddMissing();
  return true;
}

bool FeatureOrder::AddEntries(std::string_view features) {
  for (WireReader entries(features); !entries.done();) {
    uint32_t tag = entries.Tag();
    if (tag != BytesTag(1)) {
      entries.Skip(tag);
      continue;
    }
    std::string_view entry = entries.Bytes();
    auto* at = reinterpret_cast<const uint8_t*>(entry.data());
    if (!AddEntry(at, at + entry.size())) return false;
  }
  return true;
}

bool FeatureOrder::Begins(const KnownKey& known, const uint8_t* at, const uint8_t* end) const {
  if (static_cast<size_t>(end - at) < known.size) return false;
  if (static_cast<size_t>(limit_ - at) < kKeyWord) return false;  // words are read whole
  if ((WordAt(at) & known.mask) != known.first) return false;
  if ((WordAt(at + known.last_at) & known.mask) != known.last) return false;
  return known.size <= 2 * kKeyWord ||
         std::memcmp(at + kHead, known.key.data(), known.key.size()) == 0;
}

bool FeatureOrder::AddEntry(const uint8_t* at, const uint8_t* end) {
  size_t index = keys_[before_].next;
  if (!Begins(keys_[index], at, end)) {
    index = Lookup({reinterpret_cast<const char*>(at), static_cast<size_t>(end - at)});
    if (index == kNoKey) return false;
    keys_[before_].next = index;
  }
  before_ = index;
  at += keys_[index].size;
  const size_t number = keys_[index].number;
  if (!EnterOnly(at, end, BytesTag(2))) return false;
  if (number == seen_.size()) return true;
  if (seen_[number] == example_) return false;  // the last one of them counts
  seen_[number] = example_;
  ++found_;
  for (size_t request : requests_.of_key(number)) values_[request].AddWhole(at, end);
  return true;
}

size_t FeatureOrder::Lookup(std::string_view entry) {
  WireReader fields(entry);
  if (fields.done() || fields.Tag() != BytesTag(1)) return kNoKey;
  std::string_view key = fields.Bytes();
  if (key.size() > kLongestKey || entry.size() - fields.left() != kHead + key.size()) return kNoKey;
  const size_t number = requests_.Search(key);
  if (number < seen_.size()) return number;
  if (auto found = others_.find(key); found != others_.end()) return found->second;
  if (others_.size() == kMostOthers) return kNoKey;
  const size_t index = MakeKnown(key, number);
  others_.emplace(key, index);
  return index;
}

void FeatureOrder::AddMissing() {
  const FoundValue none;
  for (size_t number = 0; number < seen_.size(); ++number) {
    if (seen_[number] == example_) continue;
    for (size_t request : requests_.of_key(number)) values_[request].Add(none);
  }
}

void FeatureOrder::TakeBack() {
  for (FeatureValues& values : values_) values.Keep(example_);
}

}  // namespace penstock
