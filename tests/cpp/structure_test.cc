// Structures: one object for each meaning, released with its last reference.
#include "data/structure.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "data/foreign.h"
#include "data/foreign_names.h"

namespace penstock {
namespace {

using Kind = Structure::Kind;

class CountingRuntime final : public ForeignRuntime {
 public:
  void Release(const void*) override { released.fetch_add(1, std::memory_order_relaxed); }

  std::atomic<int> released{0};
};

// Counts what the structures of a test release; 0 at the beginning of the test.
std::atomic<int>& Released() {
  static CountingRuntime runtime;
  SetForeignRuntime(runtime);
  runtime.released = 0;
  return runtime.released;
}

// A structure whose class may end before the process does, so that the structure is
// reference-counted.
StructureRef Counted(const int* cls, std::vector<StructureRef> children) {
  const std::vector<std::string> names(children.size(), "x");
  ForeignRef form = KnownForeign(cls);
  if (!form) form = NameForeign(Kind::kRecord, {cls, "test:Class", false}, names);
  return Structure::Make(Kind::kRecord, std::move(children), names, std::move(form));
}

TEST(Structure_equal_ones_are_one_until_the_last_reference_goes) {
  std::atomic<int>& released = Released();
  static const int cls = 0, other = 0;
  CHECK(Structure::Leaf() != Structure::None());  // both exist from now on
  const size_t before = Structure::count();
  {
    StructureRef one = Counted(&cls, {Structure::Leaf()});
    const StructureRef same = Counted(&cls, {Structure::Leaf()});
    const StructureRef another = Counted(&other, {Structure::Leaf()});
    CHECK(one == same && !(one == another));
    CHECK_EQ(Structure::count(), before + 2);
    const StructureRef outer = Structure::Tuple({one, Structure::None(), one});
    CHECK_EQ(Structure::count(), before + 3);
    StructureRef moved = std::move(one);
    CHECK(!one && moved == same);
    moved = outer;
    moved = same;
    moved = *&moved;
    CHECK(moved == same);
    CHECK_EQ(outer->leaves(), 2);
  }
  CHECK_EQ(Structure::count(), before);
  CHECK_EQ(released.load(), 2);
  CHECK(!KnownForeign(&cls) && !KnownForeign(&other));
  CHECK(!FindForeign(Kind::kRecord, "test:Class", {"x"}));
}

TEST(Structure_a_bounded_number_lasts) {
  const size_t before = Structure::count();
  for (int i = 0; i < 5000; ++i) {
    const std::vector<std::string> names{"key " + std::to_string(i)};
    Structure::Make(Kind::kDict, {Structure::Leaf()}, names, nullptr);
  }
  CHECK(Structure::count() > before && Structure::count() <= before + 1024);
}

// Here lookups constantly fall between the moment a count reaches 0 and the end of its structure.
TEST(Structure_is_made_and_dropped_by_many_threads_at_once) {
  Released();
  static const int classes[3] = {};
  const size_t before = Structure::count();
  std::atomic<int> wrong{0};
  {
    StructureRef kept;  // all threads copy it while it stays unchanged
    kept = Counted(&classes[0], {Structure::Leaf(), Structure::Leaf()});
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 3000; ++i) {
          const int* cls = &classes[(i + t) % 3];
          StructureRef inner = Counted(cls, {Structure::Leaf()});
          StructureRef outer = Counted(cls, {inner, inner});
          const StructureRef again = Counted(cls, {Counted(cls, {Structure::Leaf()}), inner});
          const StructureRef copy = kept;
          bool right = outer == again && again->children()[0] == inner && inner->leaves() == 1;
          right = right && outer->foreign() == cls && copy->leaves() == 2;
          if (!right) wrong.fetch_add(1, std::memory_order_relaxed);
          if (i % 2) outer = inner;  // either the inner one or the outer one goes last
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  CHECK_EQ(wrong.load(), 0);
  CHECK_EQ(Structure::count(), before);
  for (const int& cls : classes) CHECK(!KnownForeign(&cls));
}

}  // namespace
}  // namespace penstock
