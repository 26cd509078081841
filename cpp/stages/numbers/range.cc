// range: an arithmetic sequence of integers, as any numeric type.
#include <limits>

#include "engine/registry.h"
#include "stages/numbers/arithmetic.h"

namespace penstock {
namespace {

class RangeDataset final : public Dataset, public Indexed {
 public:
  RangeDataset(int64_t start, int64_t stop, int64_t step, ElementSpec spec)
      : start_(start),
        step_(step),
        spec_(std::move(spec)),
        fill_(FillOf<int64_t>(spec_.leaves[0], "range: output_type")) {
    if (step == 0) throw Error(ErrorKind::kInvalidArgument, "range: step must not be 0");
    // Unsigned, because the distance between two int64 values may not fit int64.
    uint64_t distance = step > 0 ? static_cast<uint64_t>(stop) - static_cast<uint64_t>(start)
                                 : static_cast<uint64_t>(start) - static_cast<uint64_t>(stop);
    uint64_t stride =
        step > 0 ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
    bool empty = step > 0 ? start >= stop : start <= stop;
    uint64_t size = empty ? 0 : (distance - 1) / stride + 1;
    if (size > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      throw Error(ErrorKind::kInvalidArgument,
                  "range: fewer than 2^63 elements were expected, got {}", size);
    }
    size_ = static_cast<int64_t>(size);
  }

  int64_t cardinality() const override { return size_; }
  MaybeSpec spec() const override { return spec_; }
  const Indexed* indexed() const override { return this; }
  int64_t size() const override { return size_; }

  Block Rows(int64_t first, int64_t rows) const override {
    Block block;
    block.rows = rows;
    if (rows == 1) {  // stored inside the tensor, without an allocation
      uint8_t item[16];
      fill_(item, start_, step_, first, 1);
      block.columns.push_back(Tensor::ScalarBytes(spec_.leaves[0].dtype, item).Reshaped({1}));
    } else {
      block.columns.push_back(Tensor::Make(spec_.leaves[0].dtype, {rows}));
      fill_(block.columns[0].items.mutable_data(), start_, step_, first, rows);
    }
    block.origins = RowOrigins::From(first);
    return block;
  }

  Block Gather(const int64_t* indices, int64_t rows) const override {
    Block block;
    block.rows = rows;
    block.columns.push_back(Tensor::Make(spec_.leaves[0].dtype, {rows}));
    uint8_t* to = block.columns[0].items.mutable_data();
    block.origins.keys.assign(indices, indices + rows);
    for (int64_t i = 0; i < rows; ++i) {
      fill_(to + i * spec_.leaves[0].dtype.itemsize, start_, step_, indices[i], 1);
    }
    return block;
  }

 protected:
  IteratorPtr MakeIterator(const RunContext&) const override;

 private:
  int64_t start_;
  int64_t step_;
  ElementSpec spec_;
  FillFunction<int64_t> fill_;
  int64_t size_;
};

IteratorPtr RangeDataset::MakeIterator(const RunContext&) const {
  return MakeRowIterator(shared_from_this(), *this);
}

const RegisterDataset range_stage("range", {.arguments = {{"output_type", ArgumentForm::kDType}}},
                                  [](const std::vector<DatasetPtr>&,
                                     const Args& args) -> std::shared_ptr<Dataset> {
                                    return std::make_shared<RangeDataset>(
                                        args.Int("start"), args.Int("stop"), args.Int("step"),
                                        args.Spec("output_type"));
                                  });

}  // namespace
}  // namespace penstock
