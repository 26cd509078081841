// ragged_batch: concatenates consecutive elements of different sizes, with their start offsets.
#include <algorithm>
#include <limits>
#include <vector>

#include "engine/registry.h"
#include "stages/batch/batching.h"

namespace penstock {
namespace {

// The number of axes of a leaf whose size may differ; kAllAxes if unknown.
constexpr int kAllAxes = -1;

// A ragged leaf is the pair (values, row_splits); with two ragged axes ((values, splits), splits).
StructureRef RaggedLeaf(int axes) {
  StructureRef leaf = Structure::Leaf();
  for (int i = 0; i < axes; ++i) leaf = Structure::Tuple({leaf, Structure::Leaf()});
  return leaf;
}

StructureRef WithRaggedLeaves(const Structure* structure, const std::vector<int>& axes,
                              size_t* next) {
  if (structure->kind() == Structure::Kind::kLeaf) return RaggedLeaf(axes[(*next)++]);
  if (structure->children().empty()) return structure;
  std::vector<StructureRef> children;
  for (const StructureRef& child : structure->children()) {
    children.push_back(WithRaggedLeaves(child, axes, next));
  }
  return Structure::Make(structure->kind(), std::move(children), structure->names(),
                         structure->foreign_form());
}

// From element_spec: the axes up to the last one of unknown size are ragged.
struct RaggedAxes {
  StructureRef structure;  // null: nothing is known
  std::vector<int> axes;

  static RaggedAxes Of(const MaybeSpec& spec, bool exact) {
    RaggedAxes found;
    if (!spec) return found;
    found.structure = spec->structure;
    for (const LeafSpec& leaf : spec->leaves) {
      int count = exact && !leaf.any_rank ? 0 : kAllAxes;
      for (int d = 0; count >= 0 && d < leaf.shape.rank(); ++d) {
        if (leaf.shape[d] < 0) count = d + 1;
      }
      found.axes.push_back(count);
    }
    return found;
  }
};

class RaggedRows final : public BatchRows {
 public:
  RaggedRows(const StageLabel& stage, RaggedAxes known, DType splits)
      : BatchRows(stage), known_(std::move(known)), splits_(splits) {}

 protected:
  void Begin(const Structure* structure, const std::vector<DType>& dtypes) override {
    axes_.assign(dtypes.size(), kAllAxes);
    if (!known_.structure) return;
    std::vector<int> order = LeafOrder(known_.structure, structure);
    if (order.size() != axes_.size()) {
      throw Error(ErrorKind::kInvalidArgument,
                  "{}: elements of structure {} were expected, as element_spec says, got {}",
                  stage(), known_.structure->ToString(), structure->ToString());
    }
    for (size_t i = 0; i < axes_.size(); ++i) axes_[i] = known_.axes[static_cast<size_t>(order[i])];
  }

  std::optional<std::string> Misfit(size_t leaf, const Tensor& column) const override {
    if (stretches().empty()) return std::nullopt;
    Shape came = column.shape().WithoutFirst();
    Shape began = columns(stretches().front())[leaf].shape(0);
    int ragged = axes_[leaf] == kAllAxes ? began.rank() : axes_[leaf];
    bool fits = came.rank() == began.rank();
    for (int d = ragged; fits && d < came.rank(); ++d) fits = came[d] == began[d];
    if (fits) return std::nullopt;
    return Format("has shape {}, the batch began with {}; only the first {} axes may differ",
                  came.ToString(), began.ToString(), ragged);
  }

  bool MayDiffer(size_t leaf) const override { return axes_[leaf] != 0; }

  Element Assemble(const Structure* structure) override {
    Element batch;
    std::vector<int> axes = axes_;
    for (size_t leaf = 0; !stretches().empty() && leaf < axes.size(); ++leaf) {
      if (axes[leaf] == kAllAxes) axes[leaf] = columns(stretches().front())[leaf].rank();
      batch.leaves.push_back(Values(leaf, axes[leaf]));
      for (int axis = axes[leaf]; axis > 0; --axis) batch.leaves.push_back(Splits(leaf, axis));
    }
    size_t next = 0;
    batch.structure = structure;
    if (!stretches().empty()) batch.structure = WithRaggedLeaves(structure, axes, &next);
    return batch;
  }

  Tensor Join(size_t leaf) override { return Values(leaf, axes_[leaf]); }

 private:
  // Concatenates the rows along a single axis that merges the first `ragged` axes of each row.
  Tensor Values(size_t leaf, int ragged) {
    const Shape first = columns(stretches().front())[leaf].shape(0).Prepend(1);
    Shape dense(first.dims().data() + ragged, static_cast<size_t>(first.rank() - ragged));
    dense[0] = 0;
    for (const Stretch& stretch : stretches()) dense[0] += Parts(stretch, leaf, ragged + 1);
    return JoinItems(leaf, dense);
  }

  // The number of subarrays that the first `axes` axes of a stretch index; the first axis is the
  // rows.
  int64_t Parts(const Stretch& stretch, size_t leaf, int axes) const {
    if (axes == 1) return stretch.rows;
    const Column& column = columns(stretch)[leaf];
    int64_t count = 1;  // if rows differ in size, the first two axes of their column are merged
    for (int d = 0; d < axes - column.ragged(); ++d) count *= column.items.shape()[d];
    return count;
  }

  // The start offsets of the subarrays along axis `axis` of the rows; axis 1 is the first axis of a
  // row.
  Tensor Splits(size_t leaf, int axis) {
    std::vector<int64_t> ends{0};
    for (const Stretch& stretch : stretches()) {
      const Column& column = columns(stretch)[leaf];
      if (axis == 1) {
        for (int64_t row = 0; row < stretch.rows; ++row) {
          ends.push_back(ends.back() + column.RangeOf(row).count);
        }
        continue;
      }
      const int64_t size = column.items.shape()[axis - column.ragged()];
      const int64_t count = Parts(stretch, leaf, axis);
      for (int64_t i = 0; i < count; ++i) ends.push_back(ends.back() + size);
    }
    Tensor splits = Tensor::Make(splits_, {static_cast<int64_t>(ends.size())});
    if (splits_ == DTypeOf<int64_t>()) {
      std::memcpy(splits.mutable_data(), ends.data(), splits.nbytes());
      return splits;
    }
    if (ends.back() > std::numeric_limits<int32_t>::max()) {
      throw Error(ErrorKind::kInvalidArgument,
                  "{}: {} values do not fit row_splits of int32; make them int64", stage(),
                  ends.back());
    }
    auto* to = reinterpret_cast<int32_t*>(splits.mutable_data());
    std::transform(ends.begin(), ends.end(), to,
                   [](int64_t end) { return static_cast<int32_t>(end); });
    return splits;
  }

  RaggedAxes known_;
  DType splits_;
  std::vector<int> axes_;  // of the leaves of this batch
};

class RaggedBatchDataset final : public BatchingDataset {
 public:
  RaggedBatchDataset(int64_t size, bool drop, DType splits)
      : BatchingDataset({size}, drop), splits_(splits) {}

  MaybeSpec spec() const override {
    MaybeSpec in = input_spec();
    if (!in) return std::nullopt;
    RaggedAxes ragged = Axes();
    ElementSpec out;
    for (size_t i = 0; i < in->leaves.size(); ++i) {
      const LeafSpec& leaf = in->leaves[i];
      if (leaf.any_rank) return probed_spec();
      if (ragged.axes[i] == kAllAxes) ragged.axes[i] = leaf.shape.rank();
      AddLeaf(leaf, ragged.axes[i], &out);
    }
    size_t next = 0;
    out.structure = WithRaggedLeaves(in->structure, ragged.axes, &next);
    return out;
  }

 protected:
  std::unique_ptr<BatchRows> NewBatch() const override {
    return std::make_unique<RaggedRows>(label(), Axes(), splits_);
  }
  bool ragged() const override { return true; }

 private:
  RaggedAxes Axes() const { return RaggedAxes::Of(input_spec(), !GuessesShapes(input())); }

  void AddLeaf(const LeafSpec& leaf, int ragged, ElementSpec* out) const {
    int64_t rows = fixed_rows();
    LeafSpec values = leaf;
    if (ragged == 0) {
      values.shape = leaf.shape.Prepend(rows);
    } else {
      values.shape = Shape(leaf.shape.dims().data() + ragged - 1,
                           static_cast<size_t>(leaf.shape.rank() - ragged + 1));
      values.shape[0] = -1;
    }
    out->leaves.push_back(values);
    for (int axis = ragged; axis > 0; --axis) {
      int64_t ends = axis == 1 && rows >= 0 ? rows + 1 : -1;
      out->leaves.push_back({splits_, {ends}, false});
    }
  }

  DType splits_;
};

const RegisterDataset ragged_batch_stage(
    "ragged_batch", {.arguments = {{"row_splits_dtype", ArgumentForm::kDType}}},
    [](const std::vector<DatasetPtr>&, const Args& args) -> std::shared_ptr<Dataset> {
      DType splits = args.Spec("row_splits_dtype").leaves[0].dtype;
      if (splits != DTypeOf<int64_t>() && splits != DTypeOf<int32_t>()) {
        throw Error(ErrorKind::kInvalidArgument,
                    "ragged_batch: row_splits_dtype must be int32 or int64, got {}", splits.name());
      }
      return std::make_shared<RaggedBatchDataset>(args.IntAtLeast("batch_size", 1),
                                                  args.Bool("drop_remainder"), splits);
    });

}  // namespace
}  // namespace penstock
