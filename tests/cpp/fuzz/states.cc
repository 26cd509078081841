// States of iterators, changed behind their checksum: restored or refused, and no step behind them
// reads what is not there.
#include <cstring>
#include <memory>

#include "fuzz.h"
#include "pipeline/crc32c.h"
#include "pipeline/registry.h"
#include "pipeline/session.h"

namespace penstock::fuzz {
namespace {

constexpr int64_t kMostSteps = 200;

DatasetPtr Range(int64_t stop) {
  Args args("range");
  args.Set("start", int64_t{0});
  args.Set("stop", stop);
  args.Set("step", int64_t{1});
  args.Set("output_type",
           std::make_shared<const ElementSpec>(ElementSpec::Scalar(DTypeOf<int64_t>())));
  return MakeDataset("range", {}, args);
}

// Rows as they are, tests for even numbers, and datasets of up to four elements.
class Plain final : public Function {
 public:
  void Map(Block&& rows, const CallInfo&, std::vector<Block>& out) override {
    out.push_back(std::move(rows));
  }
  bool Test(const Element& element, const CallInfo&) override { return NumberOf(element) % 2 == 0; }
  DatasetPtr Open(const Element& element, const CallInfo&) override {
    return Range(NumberOf(element) % 5);
  }
  bool needs_lock() const override { return false; }

 private:
  static int64_t NumberOf(const Element& element) { return element.leaves[0].value<int64_t>(); }
};

using Named = std::vector<std::pair<const char*, Args::Value>>;

DatasetPtr Then(DatasetPtr input, const char* kind, Named named, DatasetPtr other = nullptr) {
  Args args(kind);
  for (auto& [name, value] : named) args.Set(name, value);
  std::vector<DatasetPtr> inputs{std::move(input)};
  if (other) inputs.push_back(std::move(other));
  return MakeDataset(kind, inputs, args);
}

DatasetPtr Batch(DatasetPtr input, int64_t size) {
  return Then(std::move(input), "batch", {{"batch_size", size}, {"drop_remainder", false}});
}

DatasetPtr Shuffle(DatasetPtr input, bool fused) {
  return Then(std::move(input), "shuffle",
              {{"buffer_size", int64_t{5}},
               {"seed", int64_t{1}},
               {"reshuffle_each_iteration", true},
               {"fused", fused}});
}

DatasetPtr Pack(DatasetPtr input, const char* strategy) {
  return Then(std::move(input), "pack",
              {{"length", int64_t{7}},
               {"strategy", std::string(strategy)},
               {"open_packs", int64_t{3}},
               {"too_long", std::string("split")},
               {"drop_remainder", false}});
}

const std::vector<DatasetPtr>& Pipelines() {
  static const std::vector<DatasetPtr> all = [] {
    FunctionPtr plain = std::make_shared<Plain>();
    auto filtered = [&] { return Then(Range(60), "filter", {{"predicate", plain}}); };
    auto interleave = [&](const char* kind) {
      return Then(
          Range(20), kind,
          {{"map_func", plain}, {"cycle_length", int64_t{3}}, {"block_length", int64_t{2}}});
    };
    Named count = {{"count", int64_t{2}}};
    return std::vector<DatasetPtr>{
        Batch(Shuffle(Range(50), true), 3),
        Shuffle(filtered(), false),
        Then(Shuffle(Range(20), false), "repeat", count),
        Then(Range(9), "concatenate", {}, Batch(Range(9), 1)),
        Then(Then(Range(9), "concatenate", {}, filtered()), "take", {{"count", int64_t{30}}}),
        Then(Then(filtered(), "skip", count), "enumerate", {{"start", int64_t{3}}}),
        Then(Batch(Range(40), 7), "unbatch", {}),
        Then(Then(Range(40), "window",
                  {{"size", int64_t{4}}, {"shift", int64_t{3}}, {"drop_remainder", false}}),
             "shard", {{"num_shards", int64_t{2}}, {"index", int64_t{1}}}),
        interleave("interleave"),
        Then(interleave("interleave"), "map", {{"map_func", plain}}),
        Pack(Batch(Range(60), 5), "first_fit"),
        Pack(Batch(Range(60), 4), "concat_then_split"),
        Then(Then(filtered(), "unique", {}), "cache", {}),
        Then(Range(40), "sample_from_datasets",
             {{"seed", int64_t{1}}, {"stop_on_empty_dataset", false}}, filtered()),
        Then(Range(40), "prefetch", {{"buffer_size", int64_t{2}}}),
        Then(Range(40), "take_while", {{"predicate", plain}}),
    };
  }();
  return all;
}

// The number of the pipeline and its state.
std::vector<std::string> States(const std::string&) {
  std::vector<std::string> states;
  for (size_t i = 0; i < Pipelines().size(); ++i) {
    for (int64_t steps : {0, 1, 4, 9}) {
      Session session(Pipelines()[i], {}, {});
      for (int64_t step = 0; step < steps; ++step) {
        if (session.NextBlock(1).end) break;
      }
      states.push_back(static_cast<char>(i) + session.GetState({}));
    }
  }
  return states;
}

void RunState(const std::string& input, Random& random) {
  if (input.empty()) return;
  size_t number = static_cast<uint8_t>(input[0]) % Pipelines().size();
  Session session(Pipelines()[number], {}, {});
  session.SetState(std::string_view(input).substr(1));
  auto rows = static_cast<int64_t>(1 + random.Below(8));
  for (int64_t step = 0; step < kMostSteps; ++step) {
    Block block = session.NextBlock(rows);
    for (int64_t i = 0; i < block.rows; ++i) {
      Element row = block.Row(i);
      Require(row.leaves.size() == static_cast<size_t>(row.structure->leaves()), "a leaf for each");
    }
    if (block.end) break;
  }
  session.GetState({});
}

void Seal(std::string& input) {
  if (input.size() < 9) return;
  size_t end = input.size() - 4;
  uint32_t crc = Crc32c(input.data() + 1, end - 1);
  std::memcpy(input.data() + end, &crc, sizeof(crc));
}

const RegisterTarget states({"state", States, RunState, Seal});

}  // namespace
}  // namespace penstock::fuzz
