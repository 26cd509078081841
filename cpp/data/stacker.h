// Stacks rows of one shape, without copying those that already lie one after the other in a slab.
#pragma once

#include <memory>

#include "data/batch_rows.h"

namespace penstock {

class Stacker final : public BatchRows {
 public:
  using BatchRows::BatchRows;
  // The rows taken at a time, at most; never below the number held now.
  void SetCapacity(int64_t capacity) override { capacity_ = capacity; }

 protected:
  std::optional<std::string> Misfit(size_t leaf, const Tensor& column) const override;
  void Keep(Stretch stretch) override;
  Tensor Join(size_t leaf) override;
  void Clear() override;

 private:
  bool AreLarge(const Stretch& stretch) const;
  void CopyToSlab(Stretch& stretch);
  // Whether all rows lie one after the other in a slab.
  bool FillSlab() const;

  int64_t capacity_ = 1;
  // For large rows that lie elsewhere: each is copied while it is still in the CPU's cache, instead
  // of all at the end.
  SlabRows next_;
};

}  // namespace penstock
