// count: the number of elements, as an element.
#include <limits>

#include "engine/input.h"
#include "engine/registry.h"

namespace penstock {
namespace {

class CountDataset final : public Dataset {
 public:
  int64_t cardinality() const override { return 1; }
  MaybeSpec spec() const override { return ElementSpec::Scalar(DTypeOf<int64_t>()); }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;
};

class CountIterator final : public Iterator {
 public:
  CountIterator(IteratorPtr input, CancelToken cancel)
      : input_(std::move(input)), cancel_(std::move(cancel)) {}

  void VisitState(StateVisitor& visitor) override {
    visitor.Count(counted_, "elements counted");
    visitor.Bool(ended_);
    input_.VisitState(visitor);
  }

 protected:
  Step DoNext() override {
    constexpr int64_t kAtOnce = 1 << 20;  // check for cancellation after this many
    while (!ended_) {
      if (cancel_.cancelled()) return Error(ErrorKind::kCancelled, "");
      int64_t left = kAtOnce;
      auto error = input_.Pass(left);
      counted_ = StepsMore(counted_, kAtOnce - left);
      if (error) return *std::move(error);
      if (left == 0) continue;
      ended_ = true;
      return Element{{Tensor::Scalar(counted_)}, Structure::Leaf(), {}};
    }
    return End{};
  }

 private:
  Input input_;
  CancelToken cancel_;
  int64_t counted_ = 0;
  bool ended_ = false;
};

IteratorPtr CountDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<CountIterator>(StartInput(context), context.cancel);
}

const RegisterDataset count_stage("count",
                                  [](const std::vector<DatasetPtr>&,
                                     const Args&) -> std::shared_ptr<Dataset> {
                                    return std::make_shared<CountDataset>();
                                  });

}  // namespace
}  // namespace penstock
