// A short pipeline for each stage, and some of several stages that interact.
#include "state_pipelines.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "compute/function.h"
#include "data/foreign.h"
#include "engine/registry.h"
#include "fuzz.h"

namespace penstock::fuzz {
namespace {

using Named = std::vector<std::pair<const char*, Args::Value>>;

DatasetPtr Make(const char* kind, std::vector<DatasetPtr> inputs, const Named& named) {
  Args args(kind);
  for (auto& [name, value] : named) args.Set(name, value);
  return MakeDataset(kind, std::move(inputs), args);
}

Args::Value Int64Spec() {
  return std::make_shared<const ElementSpec>(ElementSpec::Scalar(DTypeOf<int64_t>()));
}

Args::Value Floats(const std::vector<double>& values) {
  Tensor row = Tensor::Make(DTypeOf<double>(), {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), reinterpret_cast<double*>(row.mutable_data()));
  return std::make_shared<const Element>(Element{{row}, Structure::Leaf(), {}});
}

DatasetPtr Range(int64_t stop) {
  return Make(
      "range", {},
      {{"start", int64_t{0}}, {"stop", stop}, {"step", int64_t{1}}, {"output_type", Int64Spec()}});
}

DatasetPtr Counter() {
  return Make("counter", {},
              {{"start", int64_t{0}}, {"step", int64_t{1}}, {"output_type", Int64Spec()}});
}

// Datasets that are leaves of elements, which name them by number because no runtime holds them.
struct Windows {
  std::mutex mutex;
  std::vector<DatasetPtr> datasets;
};
Windows& AllWindows() {
  static Windows windows;
  return windows;
}

class NumberingRuntime final : public ForeignRuntime {
 public:
  Tensor WrapDataset(DatasetPtr dataset) override {
    Windows& windows = AllWindows();
    std::lock_guard lock(windows.mutex);
    windows.datasets.push_back(std::move(dataset));
    return Tensor::Scalar(static_cast<int64_t>(windows.datasets.size()) - 1);
  }
};

int64_t NumberOf(const Element& element) { return element.leaves.back().value<int64_t>(); }

// What each call of a function gives.
enum class Does { kSame, kFirst, kClass, kWindow, kFails };

class Plain final : public Function {
 public:
  explicit Plain(Does does) : does_(does) {}
  void Map(Block&& rows, const CallInfo&, std::vector<Block>& out) override {
    for (int64_t i = 0; i < rows.rows; ++i) {
      Element row = rows.Row(i);
      if (does_ == Does::kFails && NumberOf(row) % 3 == 0) {
        out.push_back(Block::Of(Error(ErrorKind::kRuntime, "every third one fails")));
        continue;
      }
      if (does_ == Does::kFirst) row.leaves = {row.leaves[0]};
      if (does_ == Does::kClass) row.leaves = {Tensor::Scalar(NumberOf(row) % 3)};
      if (row.leaves.size() == 1) row.structure = Structure::Leaf();
      out.push_back(Block::Of(std::move(row)));
    }
  }
  bool Test(const Element& element, const CallInfo&) override { return NumberOf(element) % 2 == 0; }
  // A window, or up to four numbers.
  DatasetPtr Open(const Element& element, const CallInfo&) override {
    if (does_ != Does::kWindow) return Range(NumberOf(element) % 5);
    Windows& windows = AllWindows();
    std::lock_guard lock(windows.mutex);
    return windows.datasets.at(static_cast<size_t>(NumberOf(element)));
  }
  bool needs_lock() const override { return false; }

 private:
  const Does does_;
};

PlannedFunction That(Does does) { return {std::make_shared<Plain>(does)}; }

DatasetPtr Then(DatasetPtr input, const char* kind, const Named& named = {},
                DatasetPtr other = nullptr) {
  std::vector<DatasetPtr> inputs{std::move(input)};
  if (other) inputs.push_back(std::move(other));
  return Make(kind, std::move(inputs), named);
}

DatasetPtr Batch(DatasetPtr input, int64_t size) {
  return Then(std::move(input), "batch", {{"batch_size", size}, {"drop_remainder", false}});
}

DatasetPtr Filter(DatasetPtr input) {
  return Then(std::move(input), "filter", {{"predicate", That(Does::kSame)}});
}

DatasetPtr Failing(DatasetPtr input) {
  return Then(std::move(input), "map", {{"map_func", That(Does::kFails)}});
}

DatasetPtr Shuffle(DatasetPtr input, bool fused) {
  return Then(std::move(input), "shuffle",
              {{"buffer_size", int64_t{5}},
               {"seed", int64_t{1}},
               {"reshuffle_each_iteration", true},
               {"fused", fused}});
}

DatasetPtr Repeat(DatasetPtr input, int64_t count) {
  return Then(std::move(input), "repeat", {{"count", count}});
}

DatasetPtr Prefetch(DatasetPtr input) {
  return Then(std::move(input), "prefetch", {{"buffer_size", int64_t{2}}});
}

DatasetPtr Interleave(DatasetPtr input, bool parallel) {
  Named named = {
      {"map_func", That(Does::kSame)}, {"cycle_length", int64_t{3}}, {"block_length", int64_t{2}}};
  if (parallel) named.emplace_back("num_parallel_calls", int64_t{2});
  return Then(std::move(input), "interleave", named);
}

DatasetPtr Pack(DatasetPtr input, const char* strategy) {
  return Then(std::move(input), "pack",
              {{"length", int64_t{7}},
               {"strategy", std::string(strategy)},
               {"open_packs", int64_t{3}},
               {"too_long", std::string("split")},
               {"drop_remainder", false}});
}

DatasetPtr Window(DatasetPtr input) {
  return Then(std::move(input), "window",
              {{"size", int64_t{4}},
               {"shift", int64_t{3}},
               {"stride", int64_t{1}},
               {"drop_remainder", false}});
}

DatasetPtr Groups(DatasetPtr input) {
  return Then(std::move(input), "group_by_window",
              {{"key_func", That(Does::kClass)},
               {"reduce_func", That(Does::kWindow)},
               {"window_size", int64_t{4}}});
}

DatasetPtr Buckets(DatasetPtr input) {
  return Then(std::move(input), "bucket_by_sequence_length",
              {{"element_length_func", That(Does::kClass)},
               {"reduce_func", That(Does::kWindow)},
               {"bucket_boundaries", std::vector<int64_t>{1, 2}},
               {"bucket_batch_sizes", std::vector<int64_t>{3, 5, 4}},
               {"pad_to_bucket_boundary", false},
               {"no_padding", false},
               {"drop_remainder", false}});
}

DatasetPtr ShardEvenly(DatasetPtr input, const char* remainder, bool fused) {
  return Then(std::move(input), "shard_evenly",
              {{"num_shards", int64_t{3}},
               {"index", int64_t{1}},
               {"remainder", std::string(remainder)},
               {"seed", int64_t{1}},
               {"fused", fused}});
}

DatasetPtr Sample(DatasetPtr one, DatasetPtr other, const Args::Value& weights) {
  return Then(std::move(one), "sample_from_datasets",
              {{"seed", int64_t{1}}, {"stop_on_empty_dataset", false}, {"weights", weights}},
              std::move(other));
}

DatasetPtr Zip(DatasetPtr one, DatasetPtr other) {
  auto pair = Structure::Tuple({Structure::Leaf(), Structure::Leaf()});
  Element nesting{{Tensor::Scalar(int64_t{0}), Tensor::Scalar(int64_t{1})}, pair, {}};
  return Then(std::move(one), "zip",
              {{"nesting", std::make_shared<const Element>(std::move(nesting))}}, std::move(other));
}

DatasetPtr Scan(DatasetPtr input) {
  Element zero{{Tensor::Scalar(int64_t{0})}, Structure::Leaf(), {}};
  return Then(std::move(input), "scan",
              {{"scan_func", That(Does::kSame)},
               {"initial_state", std::make_shared<const Element>(std::move(zero))}});
}

DatasetPtr Fold(DatasetPtr input) {
  Tensor flags = Tensor::Make(DTypeOf<bool>(), {3});
  std::fill_n(flags.mutable_data(), 3, uint8_t{1});
  Element text{{Tensor::String(TypeCode::kBytes, "text"), flags},
               Structure::Tuple({Structure::Leaf(), Structure::Leaf()}),
               {}};
  return Then(std::move(input), "scan",
              {{"scan_func", That(Does::kFails)},
               {"initial_state", std::make_shared<const Element>(std::move(text))}});
}

DatasetPtr Lines() {
  const std::string path = TemporaryFolder() + "/lines";
  std::string text;
  for (int i = 0; i < 40; ++i) text += "line " + std::to_string(i) + "\n";
  WriteFile(path, text);
  return Make("text_line", {}, {{"filename", path}, {"buffer_size", int64_t{64}}});
}

std::vector<Pipeline> All() {
  const PlannedFunction same = That(Does::kSame);
  const Named two = {{"count", int64_t{2}}};
  auto cached = [&] { return Then(Then(Filter(Range(60)), "unique"), "cache"); };
  return {
      {Batch(Shuffle(Range(50), true), 3)},
      {Shuffle(Filter(Range(60)), false)},
      {Repeat(Shuffle(Range(20), false), 2)},
      {Then(Range(9), "concatenate", {}, Range(9))},
      {Then(Then(Range(9), "concatenate", {}, Filter(Range(60))), "take",
            {{"count", int64_t{30}}})},
      {Then(Then(Filter(Range(60)), "skip", two), "enumerate", {{"start", int64_t{3}}})},
      {Then(Batch(Range(40), 7), "unbatch")},
      {Then(Filter(Range(60)), "shard", {{"num_shards", int64_t{2}}, {"index", int64_t{1}}})},
      {Interleave(Range(20), false)},
      {Then(Interleave(Range(20), true), "map", {{"map_func", same}})},
      {Pack(Batch(Range(60), 5), "first_fit")},
      {Pack(Batch(Range(60), 4), "concat_then_split")},
      {Repeat(cached(), 3)},
      {Sample(Range(40), Filter(Range(60)), Floats({0.5, 0.5}))},
      {Prefetch(Filter(Range(40)))},
      {Then(Range(40), "take_while", {{"predicate", same}})},
      {Then(Window(Range(40)), "flat_map",
            {{"map_func", That(Does::kWindow)}, {"cycle_length", int64_t{1}}})},
      {Groups(Filter(Range(60)))},
      {Buckets(Range(60))},
      {ShardEvenly(Range(40), "drop", true)},
      {ShardEvenly(Filter(Range(60)), "repeat", false)},
      {ShardEvenly(Range(40), "pad", false)},
      {Zip(Range(40), Prefetch(Range(50)))},
      {Scan(Range(40))},
      {Fold(Failing(Range(40)))},
      {Then(Failing(Range(40)), "ignore_errors", {{"max_errors", int64_t{2}}})},
      {Batch(Failing(Range(40)), 4)},
      {Shuffle(Failing(Range(40)), false)},
      {Then(Filter(Range(40)), "parallel_map",
            {{"map_func", same}, {"num_parallel_calls", int64_t{2}}})},
      {Then(Range(40), "rejection_resample",
            {{"class_func", That(Does::kClass)},
             {"target_dist", Floats({0.2, 0.3, 0.5})},
             {"seed", int64_t{1}}},
            Range(40))},
      {Then(Filter(Range(40)), "group_by_reducer",
            {{"key_func", That(Does::kClass)},
             {"init_func", same},
             {"reduce_func", That(Does::kFirst)},
             {"finalize_func", same}})},
      {Then(Filter(Range(40)), "count")},
      {Then(Filter(Range(40)), "assert_cardinality", {{"expected_cardinality", int64_t{20}}})},
      {Then(Lines(), "map", {{"map_func", That(Does::kFirst)}})},
      {Then(Then(Filter(Range(40)), "cache_file",
                 {{"filename", TemporaryFolder() + "/cache"}, {"fingerprint", std::string("f")}}),
            "take", {{"count", int64_t{9}}})},
      {Shuffle(Repeat(cached(), 2), false)},
      {Filter(Counter()), true},
      {Then(Shuffle(Filter(Counter()), false), "parallel_map",
            {{"map_func", same}, {"num_parallel_calls", int64_t{2}}}),
       true},
      {Prefetch(Zip(Counter(), Make("random_numbers", {}, {{"seed", int64_t{1}}}))), true},
      {Groups(Interleave(Counter(), true)), true},
      {Repeat(Batch(Then(Counter(), "unique"), 3), -1), true},
      // Never complete: every pass tries again what failed.
      {Repeat(Then(Failing(Range(40)), "cache"), 2)},
  };
}

}  // namespace

const std::vector<Pipeline>& Pipelines() {
  static const std::vector<Pipeline> all = [] {
    static NumberingRuntime runtime;
    SetForeignRuntime(runtime);
    return All();
  }();
  return all;
}

void ForgetWindows() {
  Windows& windows = AllWindows();
  std::lock_guard lock(windows.mutex);
  windows.datasets.clear();
}

}  // namespace penstock::fuzz
