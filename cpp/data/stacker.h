// Stacks rows of one shape, without copying rows that are already consecutive in a slab.
#pragma once

#include <memory>

#include "data/batch_rows.h"

namespace penstock {

class Stacker final : public BatchRows {
 public:
  using BatchRows::BatchRows;
  // The maximum number of rows; never below the number held now.
  void SetCapacity(int64_t capacity) override { capacity_ = capacity; }

 protected:
  std::optional<std::string> Misfit(size_t leaf, const Tensor& column) const override;
  void Keep(Stretch stretch) override;
  Tensor Join(size_t leaf) override;
  void Clear() override;

 private:
  bool AreLarge(const Stretch& stretch) const;
  void CopyToSlab(Stretch& stretch);
  // Whether all rows are consecutive in a slab.
  bool FillSlab() const;

  int64_t capacity_ = 1;
  // For large rows outside of slabs: each is copied while it is still in the CPU's cache, instead
  // of all at the end.
  SlabRows next_;
};

}  // namespace penstock
