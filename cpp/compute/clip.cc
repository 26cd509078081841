// numpy.clip: the input's type decides which limits have an effect.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "compute/elementwise.h"
#include "compute/real_types.h"

namespace penstock {
namespace {

// Whether a plain integer is at or beyond that end of the value's type.
bool LimitsNothing(const Tensor& value, const Tensor& limit, bool lower) {
  bool nothing = false;
  VisitReal(value.dtype().code, [&]<typename T>(std::type_identity<T>) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      using Ends = std::numeric_limits<T>;
      auto beyond = [&](auto number) {
        return lower ? std::cmp_less_equal(number, Ends::min())
                     : std::cmp_greater_equal(number, Ends::max());
      };
      nothing = limit.dtype().code == TypeCode::kUInt64 ? beyond(limit.value<uint64_t>())
                                                        : beyond(limit.value<int64_t>());
    }
  });
  return nothing;
}

class Clip final : public FillOp {
 public:
  Clip(const ClipLoops& loops, const ClipLimits& limits)
      : limits_(limits), none_(MakeElementwise(loops.positive, {LoopTable::kStrong})) {
    if (limits.low) low_ = MakeElementwise(loops.maximum, {LoopTable::kStrong, *limits.low});
    if (limits.high) high_ = MakeElementwise(loops.minimum, {LoopTable::kStrong, *limits.high});
    if (limits.low && limits.high) {
      both_ = MakeElementwise(loops.clip, {LoopTable::kStrong, *limits.low, *limits.high});
    }
  }

  bool by_rows(const std::vector<Tensor>& inputs) const override {
    for (size_t i = 1; i < inputs.size(); ++i) {  // each row has a different plain integer
      const auto& weak = i == 1 && limits_.low ? limits_.low : limits_.high;
      if (*weak == LoopTable::kInt && inputs[i].shape().rank() > 0) return false;
    }
    const Chosen chosen = Choose(inputs);
    return chosen.op->by_rows(chosen.inputs);
  }
  bool row_local() const override { return true; }
  LeafSpec Output(const std::vector<Tensor>& inputs) const override {
    const Chosen chosen = Choose(inputs);
    return chosen.op->fill()->Output(chosen.inputs);
  }
  void Run(const std::vector<Tensor>& inputs, Tensor& out, RandomKey key) const override {
    const Chosen chosen = Choose(inputs);
    chosen.op->fill()->Run(chosen.inputs, out, key);
  }

 private:
  struct Chosen {
    const Op* op;
    std::vector<Tensor> inputs;
  };

  Chosen Choose(const std::vector<Tensor>& inputs) const {
    Chosen chosen{nullptr, {inputs[0]}};
    size_t next = 1;
    auto take = [&](const std::optional<LoopTable::Weak>& weak, bool lower) {
      if (!weak) return false;
      const Tensor& limit = inputs[next++];
      if (*weak == LoopTable::kInt && LimitsNothing(inputs[0], limit, lower)) return false;
      chosen.inputs.push_back(limit);
      return true;
    };
    const bool low = take(limits_.low, true);
    const bool high = take(limits_.high, false);
    chosen.op = (low && high ? both_ : low ? low_ : high ? high_ : none_).get();
    return chosen;
  }

  const ClipLimits limits_;
  std::unique_ptr<const Op> none_, low_, high_, both_;  // null if such limits are not set
};

}  // namespace

std::unique_ptr<const Op> MakeClip(const ClipLoops& loops, const ClipLimits& limits) {
  return std::make_unique<Clip>(loops, limits);
}

}  // namespace penstock
