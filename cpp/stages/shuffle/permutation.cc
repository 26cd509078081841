// permutation: the integers below a size, each once, in a random order that needs no memory.
#include "data/permutation.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "engine/random_access.h"
#include "engine/registry.h"

namespace penstock {
namespace {

class PermutationDataset final : public Dataset, public RandomAccess {
 public:
  PermutationDataset(int64_t size, std::optional<uint64_t> seed, bool reshuffle)
      : size_(size), seed_(seed), reshuffle_(reshuffle), own_seed_(seed ? 0 : NextSessionSeed()) {}
  int64_t cardinality() const override { return size_; }
  MaybeSpec spec() const override { return ElementSpec::Scalar(DTypeOf<int64_t>()); }
  bool jumps() const override { return true; }
  bool counts_runs() const override { return reshuffle_; }
  std::atomic<uint64_t>* own_seed() const override {
    return reshuffle_ || seed_ ? nullptr : &own_seed_;
  }
  Step At(int64_t index, const RunContext& context) const override {
    return Numbers(Permutation(Key(context), size_), 1, [index](int64_t) { return index; }).Row(0);
  }
  Block Gather(const Positions& positions, const RunContext& context) const override {
    return Numbers(Permutation(Key(context), size_), static_cast<int64_t>(positions.size()),
                   [&](int64_t i) { return positions[static_cast<size_t>(i)]; });
  }
  // The identity of each element is the number itself.
  template <typename PositionOf>
  static Block Numbers(const Permutation& order, int64_t count, PositionOf position_of) {
    Block block;
    block.rows = count;
    Tensor numbers = Tensor::Make(DTypeOf<int64_t>(), {count});
    auto* to = reinterpret_cast<int64_t*>(numbers.mutable_data());
    for (int64_t i = 0; i < count; ++i) to[i] = order(position_of(i));
    block.origins.keys.assign(to, to + count);
    block.columns.push_back(std::move(numbers));
    return block;
  }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  RandomKey Key(const RunContext& context) const {
    // Without reshuffling, all epochs and runs of this dataset have one order.
    if (!reshuffle_) return RandomKey{seed_ ? *seed_ : context.identity->OwnSeed(*this)}.Fold(0);
    return Randomness(context).Key(seed_).Fold(
        static_cast<uint64_t>(context.identity->RunNumber(*this)));
  }

  int64_t size_;
  std::optional<uint64_t> seed_;
  bool reshuffle_;
  mutable std::atomic<uint64_t> own_seed_;  // from a restored state, or from construction
};

class PermutationIterator final : public BlockIterator {
 public:
  PermutationIterator(RandomKey key, int64_t size) : key_(key), size_(size), order_(key, size) {}

  void VisitState(StateVisitor& visitor) override {
    visitor.UInt(key_.value);
    visitor.Position(next_, size_);
    if (!visitor.saving()) order_ = Permutation(key_, size_);
  }
  std::optional<Error> Discard(int64_t& steps) override {
    next_ += std::min(size_ - next_, steps);
    steps = 0;
    return std::nullopt;
  }
  std::optional<Error> Pass(int64_t& steps) override {
    const int64_t passed = std::min(size_ - next_, steps);
    next_ += passed;
    steps -= passed;
    return std::nullopt;
  }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    const int64_t count = std::min(max_rows, size_ - next_);
    if (count <= 0) return Block::AtEnd();
    Block block =
        PermutationDataset::Numbers(order_, count, [this](int64_t i) { return next_ + i; });
    next_ += count;
    block.end = next_ == size_;
    return block;
  }

 private:
  RandomKey key_;
  const int64_t size_;
  Permutation order_;
  int64_t next_ = 0;
};

IteratorPtr PermutationDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<PermutationIterator>(Key(context), size_);
}

const RegisterDataset permutation_stage("permutation",
                                        [](const std::vector<DatasetPtr>&,
                                           const Args& args) -> std::shared_ptr<Dataset> {
                                          std::optional<uint64_t> seed;
                                          if (args.Has("seed"))
                                            seed = static_cast<uint64_t>(args.Int("seed"));
                                          return std::make_shared<PermutationDataset>(
                                              args.IntAtLeast("size", 0), seed,
                                              args.Bool("reshuffle_each_iteration"));
                                        });

}  // namespace
}  // namespace penstock
