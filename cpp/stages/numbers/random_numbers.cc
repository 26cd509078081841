// random: integers in [0, 2^32), each a function of the seed and its position.
#include "engine/registry.h"
#include "engine/sequence_key.h"

namespace penstock {
namespace {

class RandomDataset final : public Dataset {
 public:
  explicit RandomDataset(const SequenceKey& key) : key_(key) {}
  int64_t cardinality() const override { return kInfinite; }
  MaybeSpec spec() const override { return ElementSpec::Scalar(DType::Of(TypeCode::kInt64)); }
  bool counts_runs() const override { return true; }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  SequenceKey key_;
};

class RandomIterator final : public BlockIterator {
 public:
  explicit RandomIterator(RandomKey key) : key_(key) {}
  void VisitState(StateVisitor& visitor) override {
    visitor.UInt(key_.value);
    visitor.Count(next_, "elements given");
  }
  std::optional<Error> Discard(int64_t& steps) override {
    next_ = StepsMore(next_, std::exchange(steps, 0));
    return std::nullopt;
  }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    Block block;
    block.rows = max_rows;
    block.columns.push_back(Tensor::Make(DType::Of(TypeCode::kInt64), {max_rows}));
    auto* out = reinterpret_cast<int64_t*>(block.columns[0].items.mutable_data());
    block.origins = RowOrigins::From(next_);
    for (int64_t i = 0; i < max_rows; ++i) {
      out[i] = static_cast<int64_t>(key_.Draw(static_cast<uint64_t>(next_++)) >> 32);
    }
    return block;
  }

 private:
  RandomKey key_;
  int64_t next_ = 0;
};

IteratorPtr RandomDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<RandomIterator>(key_.Of(*this, context));
}

const RegisterDataset random_numbers_stage("random_numbers", {.name = "random"},
                                           [](const std::vector<DatasetPtr>&,
                                              const Args& args) -> std::shared_ptr<Dataset> {
                                             return std::make_shared<RandomDataset>(
                                                 SequenceKey(args));
                                           });

}  // namespace
}  // namespace penstock
