// The features of examples: which are requested, and their values over a batch.
// https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/example/feature.proto
#pragma once

#include <algorithm>
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

// Items of one type, contiguous in memory that becomes a tensor's.
class ItemList {
 public:
  ItemList(size_t itemsize, size_t capacity);
  // Room for `count` more items, which are counted as written.
  template <typename T>
  T* Extend(size_t count) {
    MakeRoom(count);
    T* at = Next<T>();
    size_ += count;
    return at;
  }
  bool HasRoom(size_t count) const { return size_ + count <= capacity_; }
  void MakeRoom(size_t count) {
    if (!HasRoom(count)) Grow(size_ + count);
  }
  // Where the next item will be: items that are written there, where there is room, are counted by
  // Extend.
  template <typename T>
  T* Next() {
    return reinterpret_cast<T*>(buffer_->data()) + size_;
  }
  void Append(const uint8_t* items, size_t count);
  // Takes those after the first `count` away.
  void Keep(size_t count) { size_ = std::min(size_, count); }
  size_t itemsize() const { return itemsize_; }
  size_t size() const { return size_; }
  uint8_t* data() const { return buffer_->data(); }
  const BufferRef& buffer() const { return buffer_; }

 private:
  void Grow(size_t least);

  size_t itemsize_, capacity_, size_ = 0;
  BufferRef buffer_;
};

// A string in memory that lies anywhere: the addresses of its begin and end.
struct TextSpan {
  int64_t begin, end;
};

// The values of one feature, example after example.
class FeatureValues {
 public:
  FeatureValues(const FeatureRequest& request, int64_t examples);
  // Adds the values of a feature of an Example.
  void Add(const FoundValue& feature);
  // The same for a Feature that is all of [at, end); faster when it is written as most are: one
  // list, of packed numbers or of one string.
  void AddWhole(const uint8_t* at, const uint8_t* end);
  // Takes the values of those after the first `examples` away.
  void Keep(int64_t examples);
  // Adds the values of a list of features of a SequenceExample.
  void AddList(const FoundValue& list);
  // The results, after all Add: of the one example alone, or of those in an array of shape `outer`.
  // Strings are views of `serialized` where that does not keep too much of it.
  std::vector<Tensor> Take(const Tensor& serialized, const Shape& outer, bool alone);
  // The same after all AddList.
  std::vector<Tensor> TakeLists(const Tensor& serialized, const Shape& outer, bool alone);

 private:
  // The number of values that were read; -1 when there is no list of values at all.
  int64_t Read(const FoundValue& feature);
  void ReadList(std::string_view list);
  void AddUnusual(std::string_view feature);
  // Ends an example with `count` values; -1: it has not the feature.
  void Close(int64_t count);
  void Check(int64_t count) const {
    if (count != request_.items) RefuseCount(count);
  }
  [[noreturn]] void RefuseCount(int64_t count) const;
  Tensor Array(ItemList& column, const Tensor& serialized, const Shape& outer,
               const Shape& inner) const;
  Tensor Strings(ItemList& column, const Tensor& serialized, const Shape& shape) const;
  Tensor Splits(const std::vector<int64_t>& ends) const;
  Tensor Padded(const Tensor& serialized, const Shape& outer) const;
  int64_t rows() const { return static_cast<int64_t>(column_.size()) / request_.items; }

  const FeatureRequest& request_;
  ItemList column_;
  std::vector<int64_t> ends_;       // of each example: values, or steps of a list
  std::vector<int64_t> step_ends_;  // of each step of a ragged list: values
};

}  // namespace penstock
