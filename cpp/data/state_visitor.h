// Writes and reads states: the same visit serves both directions, so they cannot disagree.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

using StateBlob = std::shared_ptr<const std::string>;  // null: a fresh iterator

class StateVisitor {
 public:
  explicit StateVisitor(std::string* out) : out_(out) {}
  // Reads a state, which may be forged. `stage` names its owner in errors.
  explicit StateVisitor(std::string_view in, std::string_view stage = {})
      : in_(in), stage_(stage) {}

  bool saving() const { return out_ != nullptr; }
  void Int(int64_t& value);
  void UInt(uint64_t& value);
  void Bool(bool& value);
  void Text(std::string& value);
  void Ints(std::vector<int64_t>& values);
  void UInts(std::vector<uint64_t>& values);
  void Blob(StateBlob& blob);
  void ExpectEnd() const;
  // When reading: whether the state continues.
  bool has_more() const { return !in_.empty(); }
  // When reading: the text as a view of the visitor's input.
  std::string_view TextView();
  // The same with bounds that hold whenever a state is saved. If a value read is out of bounds, the
  // state is damaged, and the error names `what`.
  void IntIn(int64_t& value, int64_t least, int64_t most, std::string_view what);
  void IntsIn(std::vector<int64_t>& values, int64_t least, int64_t most, std::string_view what);
  // A number of steps, elements or runs, from 0 to `most`: the sum of a few cannot overflow.
  void Count(int64_t& value, std::string_view what, int64_t most = kMostCount);
  // How many of its `size` elements a source has delivered. For a larger count, the error says that
  // the source may have been longer.
  void Position(int64_t& value, int64_t size);
  static constexpr int64_t kMostCount = int64_t{1} << 60;
  // When reading: throws a "damaged state" error unless `good`; `what` is the violated condition.
  void Demand(bool good, std::string_view what) const {
    if (!good) ThrowDamaged(stage_, what);
  }
  [[noreturn]] static void ThrowDamaged(std::string_view stage, std::string_view what);

 private:
  void PutVarint(uint64_t value);
  uint64_t GetVarint();

  std::string* out_ = nullptr;
  std::string_view in_;
  std::string_view stage_;
};

// Adds counts from states. The sum is limited, so that more can be added without overflow.
constexpr int64_t StepsMore(int64_t count, int64_t steps) {
  constexpr int64_t kMost = 2 * StateVisitor::kMostCount;
  return steps < kMost - count ? count + steps : kMost;
}

}  // namespace penstock
