// prefetch: pulls the input ahead in a background thread.
#include "engine/pass_iterator.h"
#include "engine/producer.h"
#include "engine/random_access.h"
#include "engine/registry.h"

namespace penstock {
namespace {

class PrefetchDataset final : public Dataset, public RandomAccess {
 public:
  explicit PrefetchDataset(int64_t size) : size_(size) {}
  int64_t cardinality() const override { return input().cardinality(); }
  MaybeSpec spec() const override { return input_spec(); }
  Step At(int64_t index, const RunContext& context) const override {
    return InputAt(*this, index, context);
  }
  Block Gather(const Positions& positions, const RunContext& context) const override {
    return ElementsAt(input(), positions, context);
  }
  Positions InputPositions(const Positions& positions, size_t, const RunContext&) const override {
    return positions;
  }
  bool transparent() const override { return true; }
  bool asynchronous() const override { return size_ != 0; }
  bool apart() const override { return size_ != 0; }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  int64_t size_;
};

class PrefetchIterator final : public BlockIterator {
 public:
  PrefetchIterator(const Dataset& data, const RunContext& context, int64_t size)
      : PrefetchIterator(data, context, size, context.cancel.Child()) {}

  void VisitState(StateVisitor& visitor) override { producer_.VisitState(visitor); }
  std::optional<Error> Discard(int64_t& steps) override { return producer_.Discard(steps); }

 protected:
  Block DoNextBlock(int64_t max_rows) override { return producer_.Take(max_rows); }

 private:
  PrefetchIterator(const Dataset& data, const RunContext& context, int64_t size, CancelToken token)
      : producer_(*context.session, data, data.StartInput(context.OnThread(token)), token,
                  data.Stats(context),
                  {.stage = &data.label(),
                   .limit = size,
                   .bound = data.input().calls_inline(),
                   .in_turns = !data.input().calls_inline(),
                   .stages = data.input().depth_in_line()}) {
    if (context.session->warming()) producer_.Start();
  }

  Producer producer_;
};

IteratorPtr PrefetchDataset::MakeIterator(const RunContext& context) const {
  if (size_ == 0 || !context.threads) return std::make_unique<PassIterator>(StartInput(context));
  return std::make_unique<PrefetchIterator>(*this, context, size_);
}

const RegisterDataset prefetch_stage("prefetch", {.timing = true, .keeps_sizes = true},
                                     [](const std::vector<DatasetPtr>&,
                                        const Args& args) -> std::shared_ptr<Dataset> {
                                       int64_t size = args.Int("buffer_size");
                                       if (size != kAutotune)
                                         size = args.IntAtLeast("buffer_size", 0);
                                       return std::make_shared<PrefetchDataset>(size);
                                     });

}  // namespace
}  // namespace penstock
