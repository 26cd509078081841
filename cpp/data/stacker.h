// Stacks rows of one shape, without copying those that already lie one after the other in a slab.
#pragma once

#include "data/batch_rows.h"

namespace penstock {

class Stacker final : public BatchRows {
 public:
  using BatchRows::BatchRows;
  // The rows taken at a time, at most; never below the number held now.
  void SetCapacity(int64_t capacity) override { capacity_ = capacity; }

 protected:
  std::optional<std::string> Misfit(size_t leaf, const Tensor& column) const override;
  void Keep(Piece piece) override;
  Tensor Join(size_t leaf) override;
  void Clear() override;

 private:
  // Whether all rows lie one after the other in a slab.
  bool FillSlab() const;
  // Copies large rows while they are still in the CPU's cache, instead of all at the end.
  void Absorb();

  int64_t capacity_ = 1;
  std::vector<Tensor> assembled_;  // for each leaf the batch so far, when rows are copied at once
  size_t absorbed_ = 0;            // pieces in it
  int64_t absorbed_rows_ = 0;
};

}  // namespace penstock
