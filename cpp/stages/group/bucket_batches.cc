// Checks all rows of a window before moving any.
#include "stages/group/bucket_batches.h"

#include "data/padder.h"
#include "data/stacker.h"

namespace penstock {
namespace {

// The labels of the batch stages that would batch the window's dataset.
const StageLabel kBatch{"batch", "", ""};
const StageLabel kPaddedBatch{"padded_batch", "", ""};

// Whether a row of this shape fits into a batch that began with `began`.
bool FitsShape(const Shape& shape, const Shape& began, const LeafPadding* padding) {
  if (shape.rank() == kMaxRank) return false;
  if (!padding) return shape == began;
  if (padding->any_rank) return shape.rank() == began.rank();
  bool fits = shape.rank() == padding->shape.rank();
  for (int d = 0; fits && d < shape.rank(); ++d) {
    fits = padding->shape[d] < 0 || shape[d] <= padding->shape[d];
  }
  return fits;
}

template <typename T>
std::shared_ptr<const T> Shared(const Args& args, const char* name,
                                const T& (Args::*get)(const std::string&) const) {
  return args.Has(name) ? std::make_shared<const T>((args.*get)(name)) : nullptr;
}

}  // namespace

// With pad_to_bucket_boundary, axes of unknown size are padded to the boundary of their bucket.
BucketBatching BatchingOf(const Args& args) {
  BucketBatching batching;
  const std::vector<int64_t>& boundaries = args.Ints("bucket_boundaries");
  const bool to_boundary = args.Bool("pad_to_bucket_boundary");
  batching.pads = !args.Bool("no_padding");
  batching.rules.resize(args.Ints("bucket_batch_sizes").size());
  auto shapes = Shared(args, "padded_shapes", &Args::Spec);
  if (!batching.pads || (to_boundary && !shapes)) return batching;
  auto value = Shared(args, "padding_value", &Args::Nested);
  auto values = Shared(args, "padding_values", &Args::Nested);
  for (size_t i = 0; i < batching.rules.size(); ++i) {
    auto own = shapes;
    if (to_boundary) {
      if (i >= boundaries.size()) break;  // the last bucket has no boundary
      ElementSpec whole = *shapes;
      for (LeafSpec& leaf : whole.leaves) {
        for (int d = 0; d < leaf.shape.rank(); ++d) {
          if (leaf.shape[d] < 0) leaf.shape[d] = boundaries[i] - 1;
        }
      }
      own = std::make_shared<const ElementSpec>(std::move(whole));
    }
    batching.rules[i] = std::make_shared<const PaddingRules>("padded_batch", own, value, values);
  }
  return batching;
}

bool BucketBatches::Begin(Bucket& bucket, const PaddingRules* rules, const Element& first) const {
  bool same = bucket.structure == first.structure;
  for (size_t i = 0; same && i < first.leaves.size(); ++i) {
    same = bucket.dtypes[i] == first.leaves[i].dtype();
  }
  if (same) return true;
  std::vector<DType> dtypes;
  for (const Tensor& leaf : first.leaves) {
    if (leaf.dtype().code == TypeCode::kObject) return false;
    dtypes.push_back(leaf.dtype());
  }
  try {
    if (rules) bucket.padding = rules->Match(first.structure, dtypes);
  } catch (const Error&) {
    return false;
  }
  bucket.structure = first.structure;
  bucket.dtypes = std::move(dtypes);
  return true;
}

bool BucketBatches::Fits(int64_t number, const std::vector<GroupedRows::Row>& rows) {
  // A damaged state may contain any number.
  if (number < 0 || number >= static_cast<int64_t>(buckets_.size())) return false;
  Bucket& bucket = buckets_[static_cast<size_t>(number)];
  const PaddingRules* rules = asked_.rules[static_cast<size_t>(number)].get();
  if (asked_.pads && !rules) return false;
  const Element& first = rows.front().element;
  if (!Begin(bucket, rules, first)) return false;
  for (const GroupedRows::Row& row : rows) {
    if (row.element.structure != first.structure) return false;
    for (size_t i = 0; i < first.leaves.size(); ++i) {
      const Tensor& leaf = row.element.leaves[i];
      const LeafPadding* padding = asked_.pads ? &bucket.padding[i] : nullptr;
      if (leaf.dtype() != first.leaves[i].dtype()) return false;
      if (!FitsShape(leaf.shape(), first.leaves[i].shape(), padding)) return false;
    }
  }
  return true;
}

Element BucketBatches::Make(int64_t number, std::vector<GroupedRows::Row>& rows) {
  // Put it back only on success: after a failure it may hold some of the rows.
  std::unique_ptr<BatchRows>& kept = buckets_[static_cast<size_t>(number)].batch;
  std::unique_ptr<BatchRows> batch = std::move(kept);
  if (!batch) {
    if (asked_.pads)
      batch = std::make_unique<Padder>(kPaddedBatch, asked_.rules[static_cast<size_t>(number)]);
    else
      batch = std::make_unique<Stacker>(kBatch);
  }
  Block all;
  all.rows = static_cast<int64_t>(rows.size());
  all.elements.reserve(rows.size());
  for (GroupedRows::Row& row : rows) all.elements.push_back(std::move(row.element));
  all.structure = all.elements.front().structure;
  batch->SetCapacity(all.rows);
  Block rest;
  if (auto error = batch->Append(std::move(all), 0, &rest)) throw *std::move(error);
  Element made = batch->Take();
  kept = std::move(batch);
  return made;
}

}  // namespace penstock
