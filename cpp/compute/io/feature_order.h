// Finds features of examples by the order of the keys in the previous example.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compute/io/entry_head.h"
#include "compute/io/feature_values.h"

namespace penstock {

// Examples of one writer have the same keys in the same order. So each key predicts the next one:
// the key that followed it in the previous example. If the prediction is right, and the feature has
// few values, a single comparison confirms everything before the values, which go straight to their
// column. Any other key is looked up, and becomes the new prediction.
class FeatureOrder {
 public:
  // Both must outlive this; `values` must have an entry for each request.
  FeatureOrder(const FeatureRequests& requests, std::vector<FeatureValues>& values);

  // Adds the features of example number `number`, counted from 0, to the values. Unless the example
  // is encoded as nearly all are (each key once, followed by its value, in one field each), returns
  // false and undoes its additions. It does so too if the example has an error. The caller must
  // then read the example in full; where both ways succeed, the results are the same.
  bool Add(std::string_view example, int64_t number);
  // Whether this encoding is so rare that Add only costs time.
  bool hopeless() const { return failures_ == kMostFailures; }

 private:
  static constexpr int kMostFailures = 8;  // in succession

  struct KnownKey {
    std::string_view key;
    EntryHead head;
    size_t number;                    // among the requested keys; their count if not requested
    FeatureValues* values = nullptr;  // of the request for it, if there is exactly one
    KnownKey* next = nullptr;         // the key that followed this one
    int64_t example = -1;             // the last example that had the key
  };

  bool AddAll(std::string_view example);
  bool AddEntries(std::string_view features);
  bool AddEntry(const uint8_t* at, const uint8_t* end);
  // Records that this example has a requested key; false if it had the key before.
  bool See(KnownKey& known) {
    if (known.example == example_) return false;
    known.example = example_;
    ++found_;
    return true;
  }
  bool requested(const KnownKey& known) const { return known.number < requests_.keys().size(); }
  // The key at the beginning of an entry, remembered from now on; null if that is not possible.
  KnownKey* Lookup(std::string_view entry);
  KnownKey* MakeKnown(std::string_view key, size_t number);
  void AddMissing();
  void TakeBack();

  const FeatureRequests& requests_;
  std::vector<FeatureValues>& values_;
  std::deque<KnownKey> keys_;  // the requested keys, and others that occurred
  std::unordered_map<std::string_view, KnownKey*> others_;
  KnownKey begin_;    // represents the position before the first key
  KnownKey* before_;  // the key before the one being looked up
  int64_t example_ = 0;
  size_t found_ = 0;  // number of requested keys in this example
  int failures_ = 0;
};

}  // namespace penstock
