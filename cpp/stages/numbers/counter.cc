// counter: an infinite arithmetic sequence.
#include "engine/registry.h"
#include "stages/numbers/arithmetic.h"

namespace penstock {
namespace {

class CounterDataset final : public Dataset {
 public:
  CounterDataset(const Args& args, ElementSpec spec) : spec_(std::move(spec)) {
    TypeCode code = spec_.leaves[0].dtype.code;
    real_ = code == TypeCode::kFloat32 || code == TypeCode::kFloat64;
    if (real_) {
      start_ = args.Float("start");
      step_ = args.Float("step");
    } else {
      whole_start_ = args.Int("start");
      whole_step_ = args.Int("step");
    }
    fill_ = FillOf<double>(spec_.leaves[0], "counter: dtype");
    whole_fill_ = FillOf<int64_t>(spec_.leaves[0], "counter: dtype");
  }
  int64_t cardinality() const override { return kInfinite; }
  MaybeSpec spec() const override { return spec_; }

  Block Rows(int64_t first, int64_t rows) const {
    Block block;
    block.rows = rows;
    block.columns.push_back(Tensor::Make(spec_.leaves[0].dtype, {rows}));
    void* out = block.columns[0].items.mutable_data();
    if (real_)
      fill_(out, start_, step_, first, rows);
    else
      whole_fill_(out, whole_start_, whole_step_, first, rows);
    block.origins = RowOrigins::From(first);
    return block;
  }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  ElementSpec spec_;
  bool real_ = false;
  double start_ = 0, step_ = 0;
  int64_t whole_start_ = 0, whole_step_ = 0;
  FillFunction<double> fill_;
  FillFunction<int64_t> whole_fill_;
};

class CounterIterator final : public BlockIterator {
 public:
  explicit CounterIterator(std::shared_ptr<const CounterDataset> data) : data_(std::move(data)) {}
  void VisitState(StateVisitor& visitor) override { visitor.Count(next_, "elements given"); }
  std::optional<Error> Discard(int64_t& steps) override {
    next_ = StepsMore(next_, std::exchange(steps, 0));
    return std::nullopt;
  }
  std::optional<Error> Pass(int64_t& steps) override { return Discard(steps); }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    int64_t first = next_;
    next_ = StepsMore(next_, max_rows);
    return data_->Rows(first, max_rows);
  }

 private:
  std::shared_ptr<const CounterDataset> data_;
  int64_t next_ = 0;
};

IteratorPtr CounterDataset::MakeIterator(const RunContext&) const {
  return std::make_unique<CounterIterator>(
      std::static_pointer_cast<const CounterDataset>(shared_from_this()));
}

const RegisterDataset counter_stage(
    "counter", {.arguments = {{"output_type", ArgumentForm::kDType}}},
    [](const std::vector<DatasetPtr>&, const Args& args) -> std::shared_ptr<Dataset> {
      return std::make_shared<CounterDataset>(args, args.Spec("output_type"));
    });

}  // namespace
}  // namespace penstock
