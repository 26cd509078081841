// Batches of the windows of bucket_by_sequence_length: made of their rows, with no dataset of the
// window in between.
#pragma once

#include <memory>
#include <vector>

#include "compute/args.h"
#include "data/batch_rows.h"
#include "data/padding_rules.h"
#include "stages/group/grouped_rows.h"

namespace penstock {

// What is asked for.
struct BucketBatching {
  bool pads = true;  // else rows are stacked as they are
  // The rules of each bucket; null where a batch cannot be made like this.
  std::vector<std::shared_ptr<const PaddingRules>> rules;
};

// From the arguments of bucket_by_sequence_length.
BucketBatching BatchingOf(const Args& args);

// The batches of one run.
class BucketBatches {
 public:
  explicit BucketBatches(const BucketBatching& asked)
      : asked_(asked), buckets_(asked.rules.size()) {}

  // Whether each row can be in the batch. If not, a dataset of the window reports which cannot.
  bool Fits(int64_t bucket, const std::vector<GroupedRows::Row>& rows);
  // The batch of rows that fit; moves them out of `rows`.
  Element Make(int64_t bucket, std::vector<GroupedRows::Row>& rows);

 private:
  struct Bucket {
    std::unique_ptr<BatchRows> batch;
    // Of the rows that it had last, and how their leaves are padded.
    StructureRef structure;
    std::vector<DType> dtypes;
    std::vector<LeafPadding> padding;
  };
  bool Begin(Bucket& bucket, const PaddingRules* rules, const Element& first) const;

  const BucketBatching& asked_;
  std::vector<Bucket> buckets_;
};

}  // namespace penstock
