// Stacks rows, padded to one shape.
#pragma once

#include "data/batch_rows.h"
#include "data/padding_rules.h"

namespace penstock {

class Padder final : public BatchRows {
 public:
  Padder(const StageLabel& stage, std::shared_ptr<const PaddingRules> rules)
      : BatchRows(stage), rules_(std::move(rules)) {}

 protected:
  void Begin(const Structure* structure, const std::vector<DType>& dtypes) override;
  std::optional<std::string> Misfit(size_t leaf, const Tensor& column) const override;
  bool MayDiffer(size_t) const override { return true; }  // in size, like any row of it
  Tensor Join(size_t leaf) override;

 private:
  template <typename Copy, typename Fill>
  void CopyRows(const Stretch& stretch, size_t leaf, const Shape& shape, int64_t to, Copy& copy,
                Fill& fill);
  Tensor JoinDense(size_t leaf, const Shape& shape);
  Tensor JoinStrings(size_t leaf, const Shape& shape);

  std::shared_ptr<const PaddingRules> rules_;
  StructureRef structure_;  // to which leaves_ were matched
  std::vector<DType> dtypes_;
  std::vector<LeafPadding> leaves_;
  std::optional<Error> unmatched_;  // why the padding values do not match the dtypes so far
};

}  // namespace penstock
