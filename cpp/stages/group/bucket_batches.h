// Builds the batches of bucket_by_sequence_length directly from a window's rows, without a dataset
// of the window.
#pragma once

#include <memory>
#include <vector>

#include "compute/args.h"
#include "data/batch_rows.h"
#include "data/padding_rules.h"
#include "stages/group/grouped_rows.h"

namespace penstock {

// How to batch.
struct BucketBatching {
  bool pads = true;  // false: rows are stacked without padding
  // The rules of each bucket; null if its batches cannot be built like this.
  std::vector<std::shared_ptr<const PaddingRules>> rules;
};

// From the arguments of bucket_by_sequence_length.
BucketBatching BatchingOf(const Args& args);

// Builds the batches of one run.
class BucketBatches {
 public:
  explicit BucketBatches(const BucketBatching& asked)
      : asked_(asked), buckets_(asked.rules.size()) {}

  // Whether every row fits into the batch. If not, a dataset of the window reports the row that
  // does not.
  bool Fits(int64_t bucket, const std::vector<GroupedRows::Row>& rows);
  // Returns the batch of rows that fit; moves them out of `rows`.
  Element Make(int64_t bucket, std::vector<GroupedRows::Row>& rows);

 private:
  struct Bucket {
    std::unique_ptr<BatchRows> batch;
    // The properties of the latest rows, and the padding of their leaves.
    StructureRef structure;
    std::vector<DType> dtypes;
    std::vector<LeafPadding> padding;
  };
  bool Begin(Bucket& bucket, const PaddingRules* rules, const Element& first) const;

  const BucketBatching& asked_;
  std::vector<Bucket> buckets_;
};

}  // namespace penstock
