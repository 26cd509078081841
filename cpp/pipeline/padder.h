// Pads rows to one shape while it stacks them.
#pragma once

#include "pipeline/batch_rows.h"
#include "pipeline/padding_rules.h"

namespace penstock {

class Padder final : public BatchRows {
 public:
  Padder(const char* stage, std::shared_ptr<const PaddingRules> rules)
      : BatchRows(stage), rules_(std::move(rules)) {}

 protected:
  void Begin(const Structure* structure, const std::vector<DType>& dtypes) override;
  std::optional<std::string> Misfit(size_t leaf, const Tensor& column) const override;
  Tensor Join(size_t leaf) override;

 private:
  Tensor JoinDense(size_t leaf, const Shape& shape);
  Tensor JoinStrings(size_t leaf, const Shape& shape);

  std::shared_ptr<const PaddingRules> rules_;
  const Structure* structure_ = nullptr;  // that leaves_ were matched to
  std::vector<DType> dtypes_;
  std::vector<LeafPadding> leaves_;
};

}  // namespace penstock
