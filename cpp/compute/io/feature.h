// The features of examples: which ones are requested, and their values over a batch.
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

// How a feature's values become arrays; the numbers are those in python/penstock/ops/features.py.
enum class FeatureForm : int64_t {
  kFixed = 0,   // the same number of values in every example: stacked
  kRagged = 1,  // any number: the values of all examples, and where each example's values begin
  kPadded = 2,  // any number of rows, padded to the maximum
};

// The kinds of lists of values: their field numbers in a Feature.
enum class ValueKind : int64_t { kBytes = 1, kFloat = 2, kInt64 = 3 };

// A requested feature.
struct FeatureRequest {
  size_t key;  // index of its key
  FeatureForm form;
  ValueKind kind;
  TypeCode type;
  bool narrow_splits;  // int32 instead of int64
  bool may_miss;
  Shape shape;  // of the values of an example, or of a row of them
  int64_t items;
  Tensor otherwise;           // the values of an example without the feature, or a padding value
  std::vector<uint8_t> fill;  // the same as items of an ItemList; strings point into `otherwise`
};

// The messages of a map's value: one, or several to be read as if they were concatenated.
struct FoundValue {
  bool found = false;
  std::string_view first;
  std::vector<std::string_view> more;
};

// The requested features, and the lookup of keys in a map.
class FeatureRequests {
 public:
  // Reads the argument `name`: a tuple of the keys, a row of numbers for each feature, and
  // defaults.
  FeatureRequests(const Args& args, const std::string& name);

  const std::vector<FeatureRequest>& all() const { return all_; }
  const std::vector<std::string>& keys() const { return keys_; }
  const std::string& key(const FeatureRequest& request) const { return keys_[request.key]; }
  // The indices of the requests for a key's values.
  const std::vector<size_t>& of_key(size_t key) const { return of_key_[key]; }
  // The index of a key; the number of keys if it was not requested.
  size_t Search(std::string_view key) const;
  // Adds the entries of a message whose field 1 is the map. If a key is repeated, the last one
  // wins. `found` must have an entry for each key.
  void Find(std::string_view map, std::vector<FoundValue>& found) const;
  // Resets the entries for another example.
  void Forget(std::vector<FoundValue>& found) const;

 private:
  // `guess` is usually right: most examples have their keys in the same order.
  size_t NumberOf(std::string_view key, size_t guess) const {
    return guess < keys_.size() && keys_[guess] == key ? guess : Search(key);
  }

  std::vector<FeatureRequest> all_;
  std::vector<std::string> keys_;
  std::vector<std::vector<size_t>> of_key_;
  std::unordered_map<std::string_view, size_t> numbers_;
};

}  // namespace penstock
