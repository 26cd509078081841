// batch and rebatch: consecutive elements stacked along a new first axis.
#include <vector>

#include "data/stacker.h"
#include "engine/registry.h"
#include "stages/batch/batching.h"

namespace penstock {
namespace {

class BatchDataset final : public BatchingDataset {
 public:
  // `placed`: whether workers may write rows directly into the batch's memory.
  BatchDataset(std::vector<int64_t> sizes, bool drop, bool placed)
      : BatchingDataset(std::move(sizes), drop), placed_(placed) {}
  MaybeSpec spec() const override {
    MaybeSpec in = input_spec();
    if (in) in = in->Stacked(fixed_rows());
    return in;
  }

 protected:
  std::unique_ptr<BatchRows> NewBatch() const override {
    return std::make_unique<Stacker>(label());
  }
  bool placed() const override { return placed_; }

 private:
  bool placed_;
};

// fused=False produces rows elsewhere and copies them here, for comparison: the results are the
// same.
const RegisterDataset batch_stage("batch", {.share_states = {"fused"}},
                                  [](const std::vector<DatasetPtr>&,
                                     const Args& args) -> std::shared_ptr<Dataset> {
                                    return std::make_shared<BatchDataset>(
                                        std::vector{args.IntAtLeast("batch_size", 1)},
                                        args.Bool("drop_remainder"),
                                        !args.Has("fused") || args.Bool("fused"));
                                  });

// Its input is unbatch, which emits rows as views: they are copied once, into the new batch.
const RegisterDataset rebatch_stage(
    "rebatch", [](const std::vector<DatasetPtr>&, const Args& args) -> std::shared_ptr<Dataset> {
      const std::vector<int64_t>& sizes = args.Ints("batch_size");
      if (sizes.empty()) {
        throw Error(ErrorKind::kInvalidArgument,
                    "rebatch: batch_size must be an int or a list of them, got an empty list");
      }
      for (int64_t size : sizes) {
        if (size < 1) {
          throw Error(ErrorKind::kInvalidArgument, "rebatch: batch_size must be >= 1, got {}",
                      size);
        }
      }
      return std::make_shared<BatchDataset>(sizes, args.Bool("drop_remainder"), false);
    });

}  // namespace
}  // namespace penstock
