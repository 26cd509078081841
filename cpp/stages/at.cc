// at: the element at one position of the input, found by random access.
#include "engine/random_access.h"
#include "engine/registry.h"

namespace penstock {
namespace {

class AtDataset final : public Dataset {
 public:
  explicit AtDataset(int64_t index) : index_(index) {}
  int64_t cardinality() const override { return 1; }
  MaybeSpec spec() const override { return input_spec(); }
  int64_t index() const { return index_; }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  int64_t index_;
};

class AtIterator final : public Iterator {
 public:
  AtIterator(std::shared_ptr<const AtDataset> data, RunContext context)
      : data_(std::move(data)), context_(std::move(context)) {
    // Use the identity of a fixed run: each call finds the same elements, regardless of earlier
    // runs.
    context_.identity = std::make_shared<const RunIdentity>();
  }

  void VisitState(StateVisitor& visitor) override { visitor.Bool(done_); }

 protected:
  Step DoNext() override {
    if (done_) return End{};
    Step step = ElementAt(data_->input(), data_->index(), context_);
    done_ = true;  // not reached if the call was interrupted
    return step;
  }

 private:
  std::shared_ptr<const AtDataset> data_;
  RunContext context_;
  bool done_ = false;
};

IteratorPtr AtDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<AtIterator>(std::static_pointer_cast<const AtDataset>(shared_from_this()),
                                      context);
}

const RegisterDataset at_stage(
    "at", [](const std::vector<DatasetPtr>& inputs, const Args& args) -> std::shared_ptr<Dataset> {
      if (const Dataset* stage = StageWithoutRandomAccess(*inputs[0])) {
        throw Error(ErrorKind::kType,
                    "at: every stage must have random access, {} has none: its elements are found "
                    "in order only; use skip(index).first()",
                    stage->name());
      }
      return std::make_shared<AtDataset>(args.IntAtLeast("index", 0));
    });

}  // namespace
}  // namespace penstock
