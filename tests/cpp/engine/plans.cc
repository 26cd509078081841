// Plans made from stage names, as Python makes them, and functions that take some time.
#include "plans.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string_view>
#include <thread>
#include <utility>

#include "engine/registry.h"

namespace penstock::testing {
namespace {

using Named = std::vector<std::pair<const char*, Args::Value>>;

DatasetPtr Make(const char* kind, std::vector<DatasetPtr> inputs, const Named& named = {}) {
  Args args(kind);
  for (auto& [name, value] : named) args.Set(name, value);
  return MakeDataset(kind, std::move(inputs), args);
}

// Takes up to a few microseconds, and sometimes yields to another thread.
void TakeTime(int64_t x) {
  const uint64_t some = static_cast<uint64_t>(x) * 0x9E3779B97F4A7C15u >> 56;
  if (some % 16 == 0) std::this_thread::yield();
  volatile uint64_t spun = 0;
  for (uint64_t i = 0; i < some * 8; ++i) spun = spun + i;
}

int64_t NumberOf(const Element& element) { return element.leaves.back().value<int64_t>(); }

class Call final : public Function {
 public:
  explicit Call(Does does) : does_(does) {}

  void Map(Block&& rows, const CallInfo& info, std::vector<Block>& out) override {
    for (int64_t i = 0; i < rows.rows; ++i) {
      const Element row = rows.Row(i);
      const int64_t x = NumberOf(row);
      TakeTime(x);
      if (does_ == Does::kFail && x % 7 == 0) {
        out.push_back(Block::Of(Error(ErrorKind::kRuntime, "every seventh one fails")));
      } else if (does_ == Does::kRow) {
        out.push_back(RowOf(x, row.origin, info, i));
      } else {
        out.push_back(Block::Of(Element{{Tensor::Scalar(3 * x)}, Structure::Leaf(), row.origin}));
      }
    }
  }
  bool needs_lock() const override { return false; }

 private:
  static Block RowOf(int64_t x, const Origin& origin, const CallInfo& info, int64_t row) {
    Block block;
    block.rows = 1;
    block.origins.first = origin;
    Tensor items;
    if (info.slabs) {
      block.slab = info.slabs->Row(info.first_row + row);
      items = block.slab.slab->Rows(0, DTypeOf<int64_t>(), {kRowItems}, block.slab.first, 1);
    } else {
      items = Tensor::Make(DTypeOf<int64_t>(), {1, kRowItems});
    }
    std::fill_n(reinterpret_cast<int64_t*>(items.mutable_data()), kRowItems, x);
    block.columns.push_back(std::move(items));
    return block;
  }

  const Does does_;
};

class Even final : public Function {
 public:
  void Map(Block&&, const CallInfo&, std::vector<Block>&) override {
    throw Error(ErrorKind::kRuntime, "only a predicate");
  }
  bool Test(const Element& element, const CallInfo&) override { return NumberOf(element) % 2 == 0; }
  bool needs_lock() const override { return true; }
};

class Opener final : public Function {
 public:
  explicit Opener(DatasetPtr (*make)(int64_t)) : make_(make) {}
  void Map(Block&&, const CallInfo&, std::vector<Block>&) override {
    throw Error(ErrorKind::kRuntime, "only a reader");
  }
  DatasetPtr Open(const Element& element, const CallInfo&) override {
    return make_(NumberOf(element));
  }
  bool needs_lock() const override { return false; }

 private:
  DatasetPtr (*const make_)(int64_t);
};

// A file with lines of all sizes, removed when the program ends.
class TextFile final {
 public:
  TextFile() : path_(TemporaryPath()) {
    std::ofstream file(path_, std::ios::binary);
    for (uint64_t i = 0; i < 500; ++i) {
      const size_t size = i % 90 == 50 ? 150'000 : i * 0x9E3779B97F4A7C15u >> 53;
      file << std::string(size, static_cast<char>('a' + i % 26)) << (i % 3 ? "\n" : "\r\n");
    }
    file << "the last one has no end";
  }
  ~TextFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  static std::filesystem::path TemporaryPath() {
    std::string name = (std::filesystem::temp_directory_path() / "penstock-XXXXXX").string();
    const int file = mkstemp(name.data());
    if (file < 0) throw Error(ErrorKind::kRuntime, "no temporary file can be made");
    close(file);
    return name;
  }

  const std::filesystem::path path_;
};

}  // namespace

DatasetPtr Range(int64_t stop) {
  auto type = std::make_shared<const ElementSpec>(ElementSpec::Scalar(DTypeOf<int64_t>()));
  return Make("range", {},
              {{"start", int64_t{0}}, {"stop", stop}, {"step", int64_t{1}}, {"output_type", type}});
}
DatasetPtr Map(DatasetPtr input, PlannedFunction function) {
  return Make("map", {std::move(input)}, {{"map_func", std::move(function)}});
}
DatasetPtr ParallelMap(DatasetPtr input, PlannedFunction function, int64_t calls) {
  return Make("parallel_map", {std::move(input)},
              {{"map_func", std::move(function)}, {"num_parallel_calls", calls}});
}
DatasetPtr Filter(DatasetPtr input, PlannedFunction predicate) {
  return Make("filter", {std::move(input)}, {{"predicate", std::move(predicate)}});
}
DatasetPtr ParallelFilter(DatasetPtr input, PlannedFunction predicate, int64_t calls) {
  return Make("parallel_filter", {std::move(input)},
              {{"predicate", std::move(predicate)}, {"num_parallel_calls", calls}});
}
DatasetPtr Batch(DatasetPtr input, int64_t size) {
  return Make("batch", {std::move(input)}, {{"batch_size", size}, {"drop_remainder", false}});
}
DatasetPtr Unbatch(DatasetPtr input) { return Make("unbatch", {std::move(input)}); }
DatasetPtr Prefetch(DatasetPtr input, int64_t buffer) {
  return Make("prefetch", {std::move(input)}, {{"buffer_size", buffer}});
}
DatasetPtr Shuffle(DatasetPtr input, int64_t buffer) {
  return Make("shuffle", {std::move(input)},
              {{"buffer_size", buffer},
               {"seed", int64_t{7}},
               {"reshuffle_each_iteration", true},
               {"fused", true}});
}
DatasetPtr Repeat(DatasetPtr input, int64_t count) {
  return Make("repeat", {std::move(input)}, {{"count", count}});
}
DatasetPtr Lines(int64_t calls) {
  static const TextFile file;
  Named named = {
      {"filename", file.path()}, {"compression_type", std::string()}, {"buffer_size", int64_t{1}}};
  if (calls > 0) named.emplace_back("num_parallel_calls", calls);
  return Make("text_line", {}, named);
}
DatasetPtr Cache(DatasetPtr input) { return Make("cache", {std::move(input)}); }
DatasetPtr Zip(DatasetPtr one, DatasetPtr other) {
  auto pair = Structure::Tuple({Structure::Leaf(), Structure::Leaf()});
  auto nesting = std::make_shared<const Element>(
      Element{{Tensor::Scalar(int64_t{0}), Tensor::Scalar(int64_t{1})}, pair, {}});
  return Make("zip", {std::move(one), std::move(other)}, {{"nesting", nesting}});
}
DatasetPtr Interleave(DatasetPtr input, PlannedFunction function, int64_t cycle, int64_t calls) {
  Named named = {
      {"map_func", std::move(function)}, {"cycle_length", cycle}, {"block_length", int64_t{2}}};
  if (calls > 0) named.emplace_back("num_parallel_calls", calls);
  return Make("interleave", {std::move(input)}, named);
}

PlannedFunction That(Does does) { return {std::make_shared<Call>(does)}; }
PlannedFunction IsEven() { return {std::make_shared<Even>()}; }
PlannedFunction Opens(DatasetPtr (*make)(int64_t x)) { return {std::make_shared<Opener>(make)}; }

Came& Came::operator+=(const Came& more) {
  numbers.insert(numbers.end(), more.numbers.begin(), more.numbers.end());
  errors += more.errors;
  whole = more.whole;
  return *this;
}

Came Pull(Session& session, int64_t steps, int64_t rows) {
  Came came;
  while (steps > 0) {
    Block block = session.NextBlock(std::min(rows, steps));
    for (int64_t i = 0; i < block.rows; ++i) {
      int64_t first = 0;
      const Element element = block.Row(i);
      const Tensor& leaf = element.leaves.front();
      if (leaf.dtype().is_reference())
        first = static_cast<int64_t>(std::hash<std::string_view>()(leaf.string()));
      else if (leaf.elements() > 0)
        std::memcpy(&first, leaf.data(), sizeof(first));
      came.numbers.push_back(first);
    }
    steps -= block.steps();
    if (block.error && block.error->transient()) break;
    came.errors += block.error.has_value();
    if (block.end) {
      came.whole = true;
      break;
    }
  }
  return came;
}

Came All(const DatasetPtr& dataset, RunOptions options, int64_t rows) {
  Session session(dataset, std::move(options), {});
  return Pull(session, int64_t{1} << 40, rows);
}

}  // namespace penstock::testing
