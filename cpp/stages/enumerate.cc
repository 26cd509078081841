// enumerate: (number, element) pairs.
#include "engine/random_access.h"
#include "engine/registry.h"

namespace penstock {
namespace {

void AddNumber(Element& element, int64_t number) {
  element.structure = Structure::Tuple({Structure::Leaf(), element.structure});
  element.leaves.insert(element.leaves.begin(), Tensor::Scalar(number));
}

class EnumerateDataset final : public Dataset, public RandomAccess {
 public:
  explicit EnumerateDataset(int64_t start) : start_(start) {}
  int64_t cardinality() const override { return input().cardinality(); }
  MaybeSpec spec() const override {
    MaybeSpec in = input_spec();
    if (!in) return in;
    ElementSpec pair{Structure::Tuple({Structure::Leaf(), in->structure}),
                     {{DTypeOf<int64_t>(), {}, false}}};
    pair.leaves.insert(pair.leaves.end(), in->leaves.begin(), in->leaves.end());
    return pair;
  }
  Step At(int64_t index, const RunContext& context) const override {
    Step step = InputAt(*this, index, context);
    if (auto* element = std::get_if<Element>(&step)) AddNumber(*element, start_ + index);
    return step;
  }
  Positions InputPositions(const Positions& positions, size_t, const RunContext&) const override {
    return positions;
  }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  int64_t start_;
};

class EnumerateIterator final : public BlockIterator {
 public:
  EnumerateIterator(IteratorPtr input, int64_t start)
      : input_(std::move(input)), start_(start), next_(start) {}

  void VisitState(StateVisitor& visitor) override {
    visitor.Int(next_);
    visitor.Demand(visitor.saving() || Numbered() <= uint64_t{StateVisitor::kMostCount},
                   "no element can have this number");
    VisitChild(visitor, *input_);
  }
  std::optional<Error> Discard(int64_t& steps) override {
    int64_t before = steps;
    auto error = input_->Discard(steps);
    MoveBy(before - steps);
    return error;
  }
  std::optional<Error> PassSound(int64_t& steps) override {
    int64_t before = steps;
    auto error = input_->PassSound(steps);
    MoveBy(before - steps);
    return error;
  }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    Block block = input_->NextBlock(max_rows);
    if (block.rows > 0) {
      Tensor numbers = Tensor::Make(DTypeOf<int64_t>(), {block.rows});
      auto* to = reinterpret_cast<int64_t*>(numbers.mutable_data());
      for (int64_t i = 0; i < block.rows; ++i) to[i] = Sum(next_, i);
      block.structure = Structure::Tuple({Structure::Leaf(), block.structure});
      if (block.stacked()) {
        block.columns.insert(block.columns.begin(), std::move(numbers));
      } else {
        for (int64_t i = 0; i < block.rows; ++i) {
          Element& element = block.elements[i];
          element.structure = Structure::Tuple({Structure::Leaf(), element.structure});
          element.leaves.insert(element.leaves.begin(), numbers.Row(i));
        }
      }
    }
    MoveBy(block.steps());
    return block;
  }

 private:
  // Numbers wrap around.
  static int64_t Sum(int64_t number, int64_t more) {
    return static_cast<int64_t>(static_cast<uint64_t>(number) + static_cast<uint64_t>(more));
  }
  void MoveBy(int64_t steps) { next_ = Sum(next_, steps); }
  uint64_t Numbered() const { return static_cast<uint64_t>(next_) - static_cast<uint64_t>(start_); }

  IteratorPtr input_;
  const int64_t start_;
  int64_t next_;
};

IteratorPtr EnumerateDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<EnumerateIterator>(StartInput(context), start_);
}

const RegisterDataset enumerate_stage("enumerate", {.keeps_sizes = true},
                                      [](const std::vector<DatasetPtr>&,
                                         const Args& args) -> std::shared_ptr<Dataset> {
                                        return std::make_shared<EnumerateDataset>(
                                            args.Int("start"));
                                      });

}  // namespace
}  // namespace penstock
