// Shared by batch, rebatch, padded_batch and ragged_batch, which differ only in how rows become a
// batch.
#pragma once

#include <memory>
#include <vector>

#include "data/batch_rows.h"
#include "engine/dataset.h"
#include "engine/elastic.h"
#include "engine/random_access.h"

namespace penstock {

// Whether the spec of `dataset` contains the shapes of one probed element, so other elements may
// have other shapes.
bool GuessesShapes(const Dataset& dataset);

class BatchingDataset : public Dataset, public RandomAccess, public Elastic {
 public:
  // Batches cycle through these sizes.
  BatchingDataset(std::vector<int64_t> sizes, bool drop) : sizes_(std::move(sizes)), drop_(drop) {}
  int64_t cardinality() const final;
  Step At(int64_t index, const RunContext& context) const final;
  Positions InputPositions(const Positions& positions, size_t, const RunContext&) const final;
  int64_t elastic_size() const final { return sizes_.front(); }
  std::string unfit() const final;
  void CarryState(StateVisitor* saved, int64_t& steps, std::string& out,
                  Carrying& carrying) const final;

 protected:
  // The number of rows of every batch; -1 if it may vary.
  int64_t fixed_rows() const;
  virtual std::unique_ptr<BatchRows> NewBatch() const = 0;
  // Whether the previous stage may write rows directly into the batch's memory.
  virtual bool placed() const { return false; }
  // Whether the previous stage may deliver blocks in ragged form.
  virtual bool ragged() const { return false; }
  IteratorPtr MakeIterator(const RunContext& context) const final;

 private:
  // The rows of one batch.
  struct Range {
    int64_t first, count;
  };
  Range RowsOf(int64_t index) const;

  std::vector<int64_t> sizes_;
  bool drop_;
};

}  // namespace penstock
