// unbatch: the rows of each element.
#include <atomic>

#include "data/element_text.h"
#include "engine/random_access.h"
#include "engine/registry.h"
#include "stages/unbatch/split_rows.h"

namespace penstock {
namespace {

// The rows of a valid element.
Block RowsOf(Element element) {
  Block block;
  block.structure = element.structure;
  block.origins.first = element.origin;
  if (!element.leaves.empty()) block.rows = element.leaves[0].shape()[0];
  for (int64_t i = 0; i < block.rows; ++i) {
    block.origins.keys.push_back(ChildKey(element.origin.key, static_cast<uint64_t>(i)));
  }
  block.columns.assign(std::make_move_iterator(element.leaves.begin()),
                       std::make_move_iterator(element.leaves.end()));
  return block;
}

// The error if element number `index` has no rows. `stage`: the name of the method the user called.
std::optional<Error> Misfit(const Element& element, int64_t index, const std::string& stage) {
  for (size_t i = 0; i < element.leaves.size(); ++i) {
    const Shape& shape = element.leaves[i].shape();
    std::string path = element.structure->LeafPath(static_cast<int>(i));
    if (shape.rank() == 0) {
      return Error(ErrorKind::kInvalidArgument,
                   "{}: element {}{} is a scalar, an array with a first axis was expected", stage,
                   index, path);
    }
    const int64_t rows = element.leaves[0].shape()[0];
    if (shape[0] != rows) {
      return Error(ErrorKind::kInvalidArgument,
                   "{}: element {}{} has {} rows, its first leaf has {}", stage, index, path,
                   shape[0], rows);
    }
  }
  return std::nullopt;
}

class UnbatchDataset final : public Dataset, public RandomAccess {
 public:
  explicit UnbatchDataset(std::string stage) : stage_(std::move(stage)) {}
  int64_t cardinality() const override {
    int64_t n = known_.load(std::memory_order_relaxed);
    if (n == kUnknown) known_.store(n = Count(), std::memory_order_relaxed);
    return n;
  }
  MaybeSpec spec() const override {
    MaybeSpec in = input_spec();
    if (in) in = in->Unstacked();
    return in;
  }
  // Requires that all input elements have the same number of rows.
  bool has_random_access() const override { return Size() > 0; }
  Step At(int64_t index, const RunContext& context) const override {
    const int64_t size = Size();
    Step step = InputAt(*this, index / size, context);
    auto* element = std::get_if<Element>(&step);
    if (!element) return step;
    if (auto error = Misfit(*element, index / size, stage_)) return *std::move(error);
    return RowsOf(std::move(*element)).Row(index % size);
  }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  int64_t Count() const {
    int64_t n = input().cardinality();
    if (n == 0 || n == kInfinite) return n;
    const int64_t size = Size();
    return n < 0 || size < 0 ? kUnknown : n * size;
  }
  // The number of rows of each input element, or kUnknown.
  int64_t Size() const {
    MaybeSpec in = input_spec();
    if (!in || in->leaves.empty()) return kUnknown;
    const LeafSpec& first = in->leaves[0];
    bool known = !first.any_rank && first.shape.rank() > 0 && first.shape[0] >= 0;
    return known ? first.shape[0] : kUnknown;
  }

  std::string stage_;  // the name of the method the user called, for errors
  // A cache: recomputing this in a chain of batches and unbatches would take exponential time.
  mutable std::atomic<int64_t> known_{kUnknown};
};

class UnbatchIterator final : public SplitIterator {
 public:
  UnbatchIterator(IteratorPtr input, std::string stage)
      : SplitIterator(std::move(input)), stage_(std::move(stage)) {}

 protected:
  std::vector<Block> Split(Element element, int64_t index) override {
    if (auto error = Misfit(element, index, stage_)) {
      StageLabel stage = label();
      stage.kind = stage_;
      throw error->In({std::move(stage), index, ElementText(element)}, element.origin);
    }
    return {RowsOf(std::move(element))};
  }

 private:
  const std::string stage_;
};

IteratorPtr UnbatchDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<UnbatchIterator>(StartInput(context.Replayed()), stage_);
}

const RegisterDataset unbatch_stage("unbatch", {.share_states = {"stage"}},
                                    [](const std::vector<DatasetPtr>&,
                                       const Args& args) -> std::shared_ptr<Dataset> {
                                      bool other = args.Has("stage");
                                      return std::make_shared<UnbatchDataset>(
                                          other ? args.Text("stage") : "unbatch");
                                    });

}  // namespace
}  // namespace penstock
