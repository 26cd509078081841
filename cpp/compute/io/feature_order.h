// Features of examples, found by the order of the keys in the example before.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compute/io/feature.h"

namespace penstock {

// Examples of one writer have the same keys in the same order. So the key that came after this one
// in the example before is looked at first: two comparisons of words tell whether it comes again,
// and its values go straight to their column. Any other key is looked up, and remembered as the
// one that comes after this one.
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

  // A key, and how an entry of the map with it begins: its tag, its length, and the key.
  struct KnownKey {
    std::string_view key;
    size_t size;           // of the beginning
    uint64_t first, last;  // its first and its last eight bytes; of a shorter one, those it has
    uint64_t mask;         // of the bytes that a shorter one has
    size_t last_at;        // where the last eight begin
    size_t number;         // among the keys that are requested; their count for any other
    size_t next;           // the key that came after this one
  };

  bool AddAll(std::string_view example);
  bool AddEntries(std::string_view features);
  bool AddEntry(const uint8_t* at, const uint8_t* end);
  bool Begins(const KnownKey& known, const uint8_t* at, const uint8_t* end) const;
  // The key with which an entry begins, made known; kNoKey for one that cannot be.
  size_t Lookup(std::string_view entry);
  size_t MakeKnown(std::string_view key, size_t number);
  void AddMissing();
  void TakeBack();

  const FeatureRequests& requests_;
  std::vector<FeatureValues>& values_;
  std::vector<KnownKey> keys_;  // of the requests, of no entry, and others that were met
  std::unordered_map<std::string_view, size_t> others_;
  std::vector<int64_t> seen_;       // the last example that had the key
  size_t before_;                   // the key before the one that is looked for
  const uint8_t* limit_ = nullptr;  // the end of the example
  int64_t example_ = 0;
  size_t found_ = 0;  // requested keys in this example
  int failures_ = 0;
};

}  // namespace penstock
