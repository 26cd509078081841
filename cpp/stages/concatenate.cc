// concatenate: the elements of several datasets, sequentially.
#include "engine/random_access.h"
#include "engine/registry.h"
#include "engine/session.h"

namespace penstock {
namespace {

class ConcatenateDataset final : public Dataset, public RandomAccess {
 public:
  int64_t cardinality() const override {
    int64_t total = 0;
    bool unknown = false;
    for (auto& part : inputs()) {
      int64_t n = part->cardinality();
      if (n == kInfinite) return kInfinite;
      unknown = unknown || n == kUnknown;
      total += n;
    }
    return unknown ? kUnknown : total;
  }
  MaybeSpec spec() const override {
    MaybeSpec cover = input_spec(0);
    for (size_t i = 1; cover && i < inputs().size(); ++i) {
      MaybeSpec next = input_spec(i);
      if (!next) return std::nullopt;
      cover = ElementSpec::Cover(*cover, *next);
    }
    return cover;
  }
  Step At(int64_t index, const RunContext& context) const override {
    size_t part = 0;
    for (; input(part).cardinality() != kInfinite && index >= input(part).cardinality(); ++part) {
      index -= input(part).cardinality();
    }
    return InputAt(*this, index, context, part);
  }
  Positions InputPositions(const Positions& positions, size_t part,
                           const RunContext&) const override {
    int64_t first = 0;
    for (size_t i = 0; i < part; ++i) {
      const int64_t n = input(i).cardinality();
      if (n < 0) return {};
      first += n;
    }
    const int64_t n = input(part).cardinality();
    Positions own;
    for (int64_t at : positions) {
      if (at >= first && (n == kInfinite || at < first + n)) own.push_back(at - first);
    }
    return own;
  }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;
};

class ConcatenateIterator final : public BlockIterator {
 public:
  ConcatenateIterator(std::shared_ptr<const ConcatenateDataset> data, RunContext context)
      : data_(std::move(data)), context_(std::move(context)) {
    Start();
  }

  void VisitState(StateVisitor& visitor) override {
    int64_t part = part_;
    visitor.Count(part, "datasets gone through", parts());
    // The first input uses the fills that the stage was started with.
    if (part > 0) {
      CacheFills::VisitState(visitor, *data_, &context_.session->fills(), context_.fills);
    }
    if (!visitor.saving() && part != part_) {
      part_ = part;
      input_.reset();
    }
    if (part_ == parts()) return;
    if (!input_) Start();
    VisitChild(visitor, *input_);
  }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    while (part_ < parts()) {
      if (!input_) StartOrPass();
      Block block = input_->NextBlock(max_rows);
      if (!block.end) return block;
      ++part_;
      input_.reset();
      context_.fills = CacheFills::Now(*data_, context_.session->fills(), context_.fills);
      if (block.rows == 0) continue;
      block.end = part_ == parts();
      return block;
    }
    return Block::AtEnd();
  }

 private:
  int64_t parts() const { return static_cast<int64_t>(data_->inputs().size()); }
  void Start() { input_ = data_->StartInput(context_, static_cast<size_t>(part_)); }
  // If an input cannot be started, reports the error at its position and continues with the next
  // input.
  void StartOrPass() {
    try {
      Start();
    } catch (const Error& error) {
      if (!error.transient()) ++part_;
      throw;
    }
  }

  std::shared_ptr<const ConcatenateDataset> data_;
  RunContext context_;
  int64_t part_ = 0;
  IteratorPtr input_;
};

IteratorPtr ConcatenateDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<ConcatenateIterator>(
      std::static_pointer_cast<const ConcatenateDataset>(shared_from_this()), context);
}

const RegisterDataset concatenate_stage(
    "concatenate",
    [](const std::vector<DatasetPtr>& inputs, const Args&) -> std::shared_ptr<Dataset> {
      for (size_t i = 1; i < inputs.size(); ++i) {
        MaybeSpec first = inputs[0]->spec(), other = inputs[i]->spec();
        if (first && other && !ElementSpec::Cover(*first, *other)) {
          throw Error(ErrorKind::kType,
                      "concatenate: both datasets must have the same structure and dtypes, got {} "
                      "and {}",
                      first->ToString(), other->ToString());
        }
      }
      return std::make_shared<ConcatenateDataset>();
    });

}  // namespace
}  // namespace penstock
