// The features of examples: which are requested, and their values over a batch.
// https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/example/feature.proto
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compute/args.h"
#include "compute/io/wire.h"
#include "data/tensor.h"

namespace penstock {

// How a feature's values become arrays; the numbers are those of python/penstock/ops/features.py.
enum class FeatureForm : int64_t {
  kFixed = 0,   // as many values in every example: stacked
  kRagged = 1,  // any number: values of all, and where each example's begin
  kPadded = 2,  // any number of rows, padded to the most
};

// The kinds of lists of values: the numbers of their fields in a Feature.
enum class ValueKind : int64_t { kBytes = 1, kFloat = 2, kInt64 = 3 };

// A feature that is requested.
struct FeatureRequest {
  size_t key;  // its number among the keys
  FeatureForm form;
  ValueKind kind;
  TypeCode type;
  bool narrow_splits;  // int32 rather than int64
  bool may_miss;
  Shape shape;  // of the values of an example, or of a row of them
  int64_t items;
  Tensor otherwise;  // the values of an example without it, or one to pad with
  std::vector<uint8_t>
      fill;  // the same as items of an ItemList; strings in the memory of `otherwise`
};

// Where the messages of a map's value lie: one, or several that are to be read as if they were one.
struct FoundValue {
  bool found = false;
  std::string_view first;
  std::vector<std::string_view> more;
};

// The requested features, and how they are found in a map from keys.
class FeatureRequests {
 public:
  // From the argument `name`: a tuple of the keys, a row of numbers for each feature, and defaults.
  FeatureRequests(const Args& args, const std::string& name);

  const std::vector<FeatureRequest>& all() const { return all_; }
  const std::vector<std::string>& keys() const { return keys_; }
  const std::string& key(const FeatureRequest& request) const { return keys_[request.key]; }
  // The numbers of the requests for a key's values.
  const std::vector<size_t>& of_key(size_t key) const { return of_key_[key]; }
  // The number of a key; how many there are for one that was not requested.
  size_t Search(std::string_view key) const;
  // Adds the entries of a message whose field 1 is the map: the last one of a key counts.
  // `found` has an entry for each key.
  void Find(std::string_view map, std::vector<FoundValue>& found) const;
  // Makes the entries ready for another example.
  void Forget(std::vector<FoundValue>& found) const;

 private:
  // Most examples have their keys in the same order.
  size_t NumberOf(std::string_view key, size_t guess) const {
    return guess < keys_.size() && keys_[guess] == key ? guess : Search(key);
  }

  std::vector<FeatureRequest> all_;
  std::vector<std::string> keys_;
  std::vector<std::vector<size_t>> of_key_;
  std::unordered_map<std::string_view, size_t> numbers_;
};

}  // namespace penstock
