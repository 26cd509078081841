// Features of examples, found by the order of the keys in the example before.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compute/io/entry_head.h"
#include "compute/io/feature_values.h"

namespace penstock {

// Examples of one writer have the same keys in the same order. So the key that came after this one
// in the example before is looked at first: where it comes again, and few values with it, one
// comparison of all that is before them tells so, and they go straight to their column. Any other
// key is looked up, and remembered as the one that comes after this one.
class FeatureOrder {
 public:
  // Both must outlive this; `values` has an entry for each request.
  FeatureOrder(const FeatureRequests& requests, std::vector<FeatureValues>& values);

  // Adds the features of example number `number`, counted from 0, to the values. Returns false,
  // and takes back what it has added, unless the example is written as nearly all are: a key once,
  // and its value after it, in one field each. Then, and when the example has an error, it is to
  // be read in full; the result is the same where both can be had.
  bool Add(std::string_view example, int64_t number);
  // Whether examples are so seldom written like that that Add only takes time.
  bool hopeless() const { return failures_ == kMostFailures; }

 private:
  static constexpr int kMostFailures = 8;  // one after the other

  struct KnownKey {
    std::string_view key;
    EntryHead head;
    size_t number;                    // among the keys that are requested; their count for others
    FeatureValues* values = nullptr;  // of the one request for it, where there is one
    KnownKey* next = nullptr;         // the key that came after this one
    int64_t example = -1;             // the last one that had the key
  };

  bool AddAll(std::string_view example);
  bool AddEntries(std::string_view features);
  bool AddEntry(const uint8_t* at, const uint8_t* end);
  // Notes that this example has a key that is requested; false if it had it before.
  bool See(KnownKey& known) {
    if (known.example == example_) return false;
    known.example = example_;
    ++found_;
    return true;
  }
  bool requested(const KnownKey& known) const { return known.number < requests_.keys().size(); }
  // The key with which an entry begins, made known; null for one that cannot be.
  KnownKey* Lookup(std::string_view entry);
  KnownKey* MakeKnown(std::string_view key, size_t number);
  void AddMissing();
  void TakeBack();

  const FeatureRequests& requests_;
  std::vector<FeatureValues>& values_;
  std::deque<KnownKey> keys_;  // those that are requested, and others that were met
  std::unordered_map<std::string_view, KnownKey*> others_;
  KnownKey begin_;    // stands for the key before the first one
  KnownKey* before_;  // the key before the one that is looked for
  int64_t example_ = 0;
  size_t found_ = 0;  // requested keys in this example
  int failures_ = 0;
};

}  // namespace penstock
