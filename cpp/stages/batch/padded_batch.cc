// padded_batch: consecutive elements, padded to one shape and stacked along a new first axis.
#include <vector>

#include "data/padder.h"
#include "engine/registry.h"
#include "stages/batch/batching.h"

namespace penstock {
namespace {

class PaddedBatchDataset final : public BatchingDataset {
 public:
  PaddedBatchDataset(int64_t size, bool drop, std::shared_ptr<const PaddingRules> rules)
      : BatchingDataset({size}, drop), rules_(std::move(rules)) {}
  MaybeSpec spec() const override {
    MaybeSpec in = input_spec();
    if (in) in = rules_->Padded(*in, !GuessesShapes(input())).Stacked(fixed_rows());
    return in;
  }

 protected:
  std::unique_ptr<BatchRows> NewBatch() const override {
    return std::make_unique<Padder>(label(), rules_);
  }
  bool ragged() const override { return true; }

 private:
  std::shared_ptr<const PaddingRules> rules_;
};

template <typename T>
std::shared_ptr<const T> Shared(bool given, const T& (Args::*get)(const std::string&) const,
                                const Args& args, const char* name) {
  return given ? std::make_shared<const T>((args.*get)(name)) : nullptr;
}

const RegisterDataset padded_batch_stage(
    "padded_batch",
    {.arguments = {{"padded_shapes", ArgumentForm::kSpec},
                   {"padding_value", ArgumentForm::kValue},
                   {"padding_values", ArgumentForm::kValue}}},
    [](const std::vector<DatasetPtr>& inputs, const Args& args) -> std::shared_ptr<Dataset> {
      auto given = [&](const char* name) { return args.Has(name); };
      auto rules = std::make_shared<const PaddingRules>(
          "padded_batch", Shared(given("padded_shapes"), &Args::Spec, args, "padded_shapes"),
          Shared(given("padding_value"), &Args::Nested, args, "padding_value"),
          Shared(given("padding_values"), &Args::Nested, args, "padding_values"));
      if (MaybeSpec in = inputs[0]->spec()) rules->Check(*in, !GuessesShapes(*inputs[0]));
      return std::make_shared<PaddedBatchDataset>(args.IntAtLeast("batch_size", 1),
                                                  args.Bool("drop_remainder"), std::move(rules));
    });

}  // namespace
}  // namespace penstock
