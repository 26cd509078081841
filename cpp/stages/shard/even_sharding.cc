// Rounds of elements, masks, and zero-filled padding.
#include "stages/shard/even_sharding.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace penstock {
namespace {

Remainder RemainderOf(const std::string& text) {
  if (text == "drop") return Remainder::kDrop;
  if (text == "pad") return Remainder::kPad;
  if (text == "repeat") return Remainder::kRepeat;
  throw Error(ErrorKind::kInvalidArgument,
              "shard_evenly: remainder must be 'drop', 'pad' or 'repeat', got '{}'", text);
}

void RefuseObject(const Structure* structure, size_t leaf, DType dtype) {
  if (dtype.code != TypeCode::kObject) return;
  throw Error(ErrorKind::kType,
              "shard_evenly: numbers and strings can be padded, element{} is an opaque object; use "
              "remainder='drop' or 'repeat'",
              structure->LeafPath(static_cast<int>(leaf)));
}

Tensor ZerosLike(const Tensor& leaf) {
  if (leaf.dtype().is_reference()) {
    const TypeCode code = leaf.dtype().code;
    if (leaf.shape().rank() == 0) return Tensor::String(code, "");
    std::vector<std::string_view> none(static_cast<size_t>(leaf.elements()));
    return Tensor::Strings(code, leaf.shape(), none);
  }
  Tensor zeros = Tensor::Make(leaf.dtype(), leaf.shape());
  std::memset(zeros.mutable_data(), 0, zeros.nbytes());
  return zeros;
}

}  // namespace

EvenSharding::EvenSharding(const Args& args)
    : shards(args.IntAtLeast("num_shards", 1)),
      index(args.Int("index")),
      remainder(RemainderOf(args.Text("remainder"))),
      seed(static_cast<uint64_t>(args.Int("seed"))) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (shards > kMost) {
    throw Error(ErrorKind::kInvalidArgument, "shard_evenly: num_shards must be <= {}, got {}",
                kMost, shards);
  }
  if (index < 0 || index >= shards) {
    throw Error(ErrorKind::kInvalidArgument,
                "shard_evenly: index must be in [0, num_shards = {}), got {}", shards, index);
  }
}

int64_t EvenSharding::Rounds(int64_t n) const {
  if (n < 0) return n;
  return n / shards + (remainder != Remainder::kDrop && n % shards > 0);
}

// n may be the maximum int64: add nothing to it or to values close to it.
int64_t EvenSharding::Taken(int64_t rounds, int64_t left) const {
  return rounds <= left / shards ? rounds * shards : left;
}

int64_t EvenSharding::Repeated(int64_t round, int64_t n) const {
  const int64_t there = n - round;
  return index < there ? round + index : (index - there) % n;
}

RunContext EvenSharding::Common(const RunContext& context, const Dataset& stage) const {
  auto identity = std::make_shared<RunIdentity>(*context.identity);
  const auto run = static_cast<uint64_t>(identity->RunNumber(stage));
  identity->seed = RandomKey{seed}.Fold(run).value;
  RunContext common = context.Replayed();
  common.identity = std::move(identity);
  return common;
}

void EvenSharding::VisitState(StateVisitor& visitor) const {
  int64_t saved = shards;
  visitor.IntIn(saved, 1, std::numeric_limits<int64_t>::max(), "the number of shards");
  if (saved == shards) return;
  throw Error(
      ErrorKind::kInvalidArgument,
      "set_state: the state was saved by one of {} shards, this is one of {}; to go on with "
      "another number, start after what they had: skip(n) before shard_evenly",
      saved, shards);
}

EvenSharding EvenSharding::Former(const Carrying& carrying, const Dataset& stage) const {
  EvenSharding former = *this;
  former.shards = carrying.Former(stage);
  return former;
}

int64_t EvenSharding::PassRounds(int64_t round, int64_t n, int64_t& rounds) const {
  constexpr int64_t kMost = StateVisitor::kMostCount;
  const int64_t end = n < 0 ? kMost : std::min(n, kMost);
  round = std::min(round, end);
  const int64_t passed = std::min(rounds, Rounds(end - round));
  rounds = n < 0 ? 0 : rounds - passed;
  return round + Taken(passed, end - round);
}

Element EvenSharding::PaddingLike(const Element& element) const {
  Element padding = element;
  for (size_t i = 0; i < padding.leaves.size(); ++i) {
    RefuseObject(element.structure, i, element.leaves[i].dtype());
    padding.leaves[i] = ZerosLike(element.leaves[i]);
  }
  padding.origin.key = ChildKey(element.origin.key, static_cast<uint64_t>(index));
  return padding;
}

std::string EvenShardingStage::plan_detail() const {
  return "for " + std::to_string(sharding_.shards) + " shards";
}

Element Masked(Element element, bool real) {
  element.structure = Structure::Tuple({element.structure, Structure::Leaf()});
  element.leaves.push_back(Tensor::Scalar(real));
  return element;
}

Step Real(Step step) {
  auto* element = std::get_if<Element>(&step);
  return element ? Step(Masked(std::move(*element), true)) : std::move(step);
}

Error AllFailed(int64_t elements) {
  return Error(
      ErrorKind::kRuntime,
      "shard_evenly: the shape of padding is that of an element beside it, but the last {} "
      "failed; use remainder='drop' or 'repeat'",
      elements);
}

ElementSpec MaskedSpec(ElementSpec spec) {
  spec.structure = Structure::Tuple({spec.structure, Structure::Leaf()});
  spec.leaves.push_back({DTypeOf<bool>(), {}, false});
  return spec;
}

void CheckPadding(const ElementSpec& spec) {
  for (size_t i = 0; i < spec.leaves.size(); ++i) {
    RefuseObject(spec.structure, i, spec.leaves[i].dtype);
  }
}

}  // namespace penstock
