// The values of a feature over the examples of a batch, and their conversion to arrays.
#pragma once

#include <string_view>
#include <vector>

#include "compute/io/feature.h"
#include "compute/io/item_list.h"

namespace penstock {

// The values of one feature, example by example.
class FeatureValues {
 public:
  FeatureValues(const FeatureRequest& request, int64_t examples);
  // Adds the values of a feature of an Example.
  void Add(const FoundValue& feature);
  // The same for a Feature that occupies all of [at, end). Faster in the usual encoding: one list,
  // of packed numbers or of one string.
  void AddWhole(const uint8_t* at, const uint8_t* end);
  // The same for the complete field 1 of the only list: packed numbers, or one string.
  void AddPacked(const uint8_t* at, const uint8_t* end) {
    const size_t before = column_.size();
    AddContent(at, end);
    Close(static_cast<int64_t>(column_.size() - before));
  }
  // Removes the values of examples after the first `examples`.
  void Keep(int64_t examples);
  // Adds the values of a list of features of a SequenceExample.
  void AddList(const FoundValue& list);
  // The results, after all Add calls: of a single example if `alone`, or of examples in an array of
  // shape `outer`. Strings are views of `serialized` unless that would keep too much of it alive.
  std::vector<Tensor> Take(const Tensor& serialized, const Shape& outer, bool alone);
  // The same after all AddList calls.
  std::vector<Tensor> TakeLists(const Tensor& serialized, const Shape& outer, bool alone);

 private:
  // Returns the number of values read; -1 if there is no list of values.
  int64_t Read(const FoundValue& feature);
  void ReadList(std::string_view list);
  void AddContent(const uint8_t* at, const uint8_t* end) {
    if (request_.kind == ValueKind::kInt64)
      column_.AddInt64s(at, end, read_numbers_);
    else if (request_.kind == ValueKind::kFloat)
      column_.AddFloats(at, end);
    else
      column_.AddString(at, end);
  }
  void AddUnusual(std::string_view feature);
  // Ends an example with `count` values; -1: it lacks the feature.
  void Close(int64_t count) {
    if (request_.form != FeatureForm::kFixed || count != request_.items) CloseOther(count);
  }
  void CloseOther(int64_t count);
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
  ReadNumbers read_numbers_;
  ItemList column_;
  std::vector<int64_t> ends_;       // of each example, in values or in steps of a list
  std::vector<int64_t> step_ends_;  // of each step of a ragged list, in values
};

}  // namespace penstock
