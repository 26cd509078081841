// group_by_window and bucket_by_sequence_length: collect elements with the same key into windows;
// each full window becomes a dataset.
#include <algorithm>
#include <unordered_map>
#include <vector>

#include "data/foreign.h"
#include "engine/held_bytes.h"
#include "engine/held_rows.h"
#include "engine/input.h"
#include "engine/registry.h"
#include "stages/group/bucket_batches.h"
#include "stages/group/group_key.h"
#include "stages/group/grouped_rows.h"
#include "stages/group/keyed_rows.h"

namespace penstock {
namespace {

struct Grouping {
  PlannedFunction key;
  const char* key_name = "key_func";
  PlannedFunction reduce;  // maps (key, window) to a dataset
  // One of three ways to set window sizes: for all keys, per key, per bucket. With buckets, the key
  // is the index of the interval between boundaries that contains the int.
  int64_t size = 0;
  PlannedFunction size_func;
  std::vector<int64_t> boundaries;
  std::vector<int64_t> sizes;
  // For buckets: how to batch each window. Without rules, only `reduce` can.
  BucketBatching batching;
  bool drop_remainder = false;
  MaybeSpec spec;  // of the elements, if known in advance
};

class GroupDataset final : public Dataset {
 public:
  explicit GroupDataset(Grouping grouping) : grouping_(std::move(grouping)) {}
  int64_t cardinality() const override {
    return input().cardinality() == kInfinite ? kInfinite : kUnknown;
  }
  MaybeSpec spec() const override { return grouping_.spec ? grouping_.spec : probed_spec(); }
  const Grouping& grouping() const { return grouping_; }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  Grouping grouping_;
};

// The dataset of the window being delivered.
struct OpenedWindow {
  StateBlob restored = nullptr;  // its state, after a restore
  int64_t given = 0;             // elements delivered
  Origin origin = {};            // of the window
  DatasetPtr contents = nullptr;
  DatasetPtr reduced = nullptr;
  IteratorPtr iterator = nullptr;
};

class GroupIterator final : public BlockIterator {
 public:
  GroupIterator(std::shared_ptr<const GroupDataset> data, const RunContext& context)
      : data_(std::move(data)),
        stage_(data_->label()),
        grouping_(data_->grouping()),
        context_(context.Replayed()),
        random_(data_->Randomness(context)),
        held_(*context_.session, stage_, "use smaller windows"),
        batches_(grouping_.batching),
        pulled_(data_->StartInput(context_), context.Called(grouping_.key), grouping_.key_name),
        input_(pulled_.input()) {
    if (!grouping_.sizes.empty())
      least_size_ = *std::min_element(grouping_.sizes.begin(), grouping_.sizes.end());
    else if (!grouping_.size_func)
      least_size_ = grouping_.size;
  }

  void VisitState(StateVisitor& visitor) override {
    // The waiting rows are pulled again; the steps between them are skipped.
    int64_t end = rows_.End(pulled_.position());
    int64_t low = rows_.Low(end);
    int64_t first = base_ + low;
    visitor.Count(first, "steps before the first row that waits");
    rows_.VisitState(visitor, low, end - low);
    StateBlob inside = opened_.iterator ? SaveState(*opened_.iterator) : opened_.restored;
    visitor.Blob(inside);
    visitor.Count(opened_.given, "elements given of a window");
    input_.VisitState(visitor, input_.position() - low);
    if (visitor.saving()) return;
    visitor.Demand(rows_.taken() || (!inside && opened_.given == 0),
                   "nothing can be given of a window that there is not");
    for (int64_t key : rows_.keys()) {
      visitor.Demand(grouping_.sizes.empty() ||
                         (key >= 0 && key < static_cast<int64_t>(grouping_.sizes.size())),
                     "a window must be of one of the buckets");
    }
    base_ = first;
    opened_.restored = std::move(inside);
  }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    for (;;) {
      if (context_.cancel.cancelled()) return Block::Of(Error(ErrorKind::kCancelled, ""));
      if (rows_.refilling()) Refill();
      if (!rows_.taken()) {
        if (ended_ && rows_.empty()) return Block::AtEnd();
        Collect();
        continue;
      }
      if (!opened_.iterator) {
        if (CanBatch(*rows_.taken())) {
          if (auto batch = TakeBatch(*rows_.taken())) return Block::Of(*std::move(batch));
          continue;
        }
        Open(*rows_.taken());
      }
      Block block = opened_.iterator->NextBlock(max_rows);
      block.BecomeChildren(opened_.origin.key, opened_.given);
      if (std::exchange(block.end, false)) Close();
      if (block.rows > 0 || block.error) return block;
    }
  }

 private:
  void Refill() {
    try {
      rows_.Refill(stage_.kind.c_str(), input_, context_.cancel);
      if (held_.counts()) held_.Set(rows_.Footprint());
    } catch (const Error& error) {
      if (!error.transient()) opened_ = OpenedWindow();
      throw;
    }
  }

  // Distributes pulled rows to their windows until one is full, and takes that window; pulls more
  // if there are none. After the end of the input, takes the remaining windows one by one.
  void Collect() {
    if (ended_) return static_cast<void>(rows_.TakeLowest());
    if (pulled_.empty()) {
      // Pull so many rows that at most the last one can fill a window: the window is then not
      // delayed, and no row is pulled that it does not need.
      constexpr int64_t kPulledTogether = 128;
      if (auto excess = held_.Excess()) throw *std::move(excess);
      Mark();
      ended_ = !pulled_.Pull(std::min(rows_.Room(least_size_), kPulledTogether));
    }
    while (!pulled_.empty()) {
      int64_t key = BucketOf(pulled_.Key(Info(0)));
      int64_t size = SizeOf(key);
      int64_t position = pulled_.position();
      Element element = pulled_.Take();
      if (held_.counts()) held_.Add(element.footprint());
      if (rows_.Add(key, size, position, std::move(element))) {
        rows_.Take(key);
        break;
      }
    }
  }

  // A rare key may hold a very old row. The interval between states grows with its age, so that the
  // number of states stays bounded.
  void Mark() {
    constexpr int64_t kMarks = 64;
    int64_t position = input_.position();
    int64_t low = rows_.Low(position);
    if (position - marked_ < (position - low) / kMarks) return;
    input_.Keep(low);
    input_.Mark();
    marked_ = position;
  }

  CallInfo Info(int64_t position) const { return {&stage_, random_, base_ + position}; }

  int64_t BucketOf(int64_t key) const {
    if (grouping_.sizes.empty()) return key;
    auto& ends = grouping_.boundaries;
    return std::upper_bound(ends.begin(), ends.end(), key) - ends.begin();
  }

  int64_t SizeOf(int64_t key) {
    if (!grouping_.sizes.empty()) return grouping_.sizes[static_cast<size_t>(key)];
    if (!grouping_.size_func) return grouping_.size;
    auto known = sizes_.find(key);
    if (known != sizes_.end()) return known->second;
    try {
      return sizes_[key] = AskForSize(key);
    } catch (const Error& error) {
      if (!error.transient()) pulled_.LeaveOut();
      throw;
    }
  }

  int64_t AskForSize(int64_t key) {
    CallInfo info = Info(pulled_.position());
    Origin origin = pulled_.origin();
    Element argument{{Tensor::Scalar(key)}, Structure::Leaf(), origin};
    int64_t size =
        CallForInt(*context_.Called(grouping_.size_func), "window_size_func", argument, info);
    if (size >= 1) return size;
    Error error(ErrorKind::kInvalidArgument,
                "{}: window_size_func must return a size >= 1, got {} for key {}", stage_.kind,
                size, key);
    throw error.In(FailedStepOf(info, 0, argument), origin);
  }

  // Whether the window becomes one batch, and all its rows fit into it.
  bool CanBatch(const GroupedRows::Window& window) {
    if (grouping_.batching.rules.empty() || opened_.restored || opened_.contents) return false;
    return batches_.Fits(window.key, window.rows);
  }

  // Returns the batch of the window; nullopt for a remainder that is dropped.
  std::optional<Element> TakeBatch(GroupedRows::Window& window) {
    std::optional<Element> batch;
    auto rows = static_cast<int64_t>(window.rows.size());
    try {
      if (rows == SizeOf(window.key) || !grouping_.drop_remainder) {
        batch = batches_.Make(window.key, window.rows);
        batch->origin.key = ChildKey(batch->origin.key, 0);
      }
    } catch (...) {
      Close();
      throw;
    }
    Close();
    return batch;
  }

  // Opens the dataset of the window. A permanent failure is the window's error, and ends it.
  void Open(GroupedRows::Window& window) {
    try {
      if (!opened_.contents) HoldContents(window);
      Element pair;
      pair.structure = Structure::Tuple({Structure::Leaf(), Structure::Leaf()});
      pair.leaves = {Tensor::Scalar(window.key), TheForeignRuntime().WrapDataset(opened_.contents)};
      pair.origin = opened_.origin;
      CallInfo info{&stage_, random_, window.number};
      info.session = context_.session;
      opened_.reduced = context_.Called(grouping_.reduce)->Open(pair, info);
      const RunContext context = context_.At(context_.place.Opened(opened_.origin.key)).Opened();
      IteratorPtr iterator = opened_.reduced->Start(context);
      RestoreState(*iterator, opened_.restored);
      opened_.restored = nullptr;
      opened_.iterator = std::move(iterator);
    } catch (const Error& error) {
      if (!error.transient()) Close();
      throw;
    }
  }

  void HoldContents(GroupedRows::Window& window) {
    Block all;
    all.rows = static_cast<int64_t>(window.rows.size());
    for (GroupedRows::Row& row : window.rows) all.elements.push_back(std::move(row.element));
    all.structure = all.elements.front().structure;
    opened_.origin = all.elements.front().origin;
    opened_.origin.key = ChildKey(opened_.origin.key, ~uint64_t{0});
    all.JoinOrigins(opened_.origin, 0, all.rows);
    std::vector<Block> parts;
    parts.push_back(std::move(all));
    opened_.contents = HoldRows(std::move(parts));
  }

  void Close() {
    opened_ = OpenedWindow();
    rows_.Release();
    if (held_.counts()) held_.Set(rows_.Footprint());
  }

  const std::shared_ptr<const GroupDataset> data_;
  const StageLabel& stage_;
  const Grouping& grouping_;
  const RunContext context_;
  const StageRandom random_;
  GroupedRows rows_;
  HeldBytes held_;  // of rows_, including the taken window
  OpenedWindow opened_;
  std::unordered_map<int64_t, int64_t> sizes_;
  BucketBatches batches_;
  int64_t least_size_ = 1;  // minimum window size
  KeyedRows pulled_;        // not yet in a window
  Input& input_;            // of pulled_
  int64_t marked_ = 0;
  int64_t base_ = 0;  // steps before the input's own count started
  bool ended_ = false;
};

IteratorPtr GroupDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<GroupIterator>(
      std::static_pointer_cast<const GroupDataset>(shared_from_this()), context);
}

const RegisterDataset group_by_window_stage(
    "group_by_window",
    {.foreign = true,
     .arguments = {{"reduce_func", ArgumentForm::kFunction},
                   {"window_size_func", ArgumentForm::kFunction}}},
    [](const std::vector<DatasetPtr>&, const Args& args) -> std::shared_ptr<Dataset> {
      Grouping grouping;
      grouping.key = args.Callable("key_func");
      grouping.reduce = args.Callable("reduce_func");
      if (args.Has("window_size_func"))
        grouping.size_func = args.Callable("window_size_func");
      else
        grouping.size = args.IntAtLeast("window_size", 1);
      return std::make_shared<GroupDataset>(std::move(grouping));
    });

// `reduce_func` creates one batch from each window that is not batched directly.
const RegisterDataset bucket_by_sequence_length_stage(
    "bucket_by_sequence_length",
    {.foreign = true,
     .arguments = {{"reduce_func", ArgumentForm::kFunction},
                   {"padded_shapes", ArgumentForm::kSpec},
                   {"padding_value", ArgumentForm::kValue},
                   {"padding_values", ArgumentForm::kValue},
                   {"element_spec", ArgumentForm::kSpec}}},
    [](const std::vector<DatasetPtr>&, const Args& args) -> std::shared_ptr<Dataset> {
      Grouping grouping;
      grouping.key = args.Callable("element_length_func");
      grouping.key_name = "element_length_func";
      grouping.reduce = args.Callable("reduce_func");
      grouping.boundaries = args.Ints("bucket_boundaries");
      grouping.sizes = args.Ints("bucket_batch_sizes");
      grouping.batching = BatchingOf(args);
      grouping.drop_remainder = args.Bool("drop_remainder");
      if (args.Has("element_spec")) grouping.spec = args.Spec("element_spec");
      auto& boundaries = grouping.boundaries;
      if (grouping.sizes.size() != boundaries.size() + 1) {
        throw Error(ErrorKind::kInvalidArgument,
                    "{}: bucket_batch_sizes must have {} sizes for {} boundaries, one more, got {}",
                    args.owner(), boundaries.size() + 1, boundaries.size(), grouping.sizes.size());
      }
      if (std::adjacent_find(boundaries.begin(), boundaries.end(), std::greater_equal<int64_t>()) !=
          boundaries.end()) {
        throw Error(ErrorKind::kInvalidArgument, "{}: bucket_boundaries must ascend", args.owner());
      }
      for (int64_t size : grouping.sizes) {
        if (size < 1) {
          throw Error(ErrorKind::kInvalidArgument, "{}: bucket_batch_sizes must be >= 1, got {}",
                      args.owner(), size);
        }
      }
      return std::make_shared<GroupDataset>(std::move(grouping));
    });

}  // namespace
}  // namespace penstock
