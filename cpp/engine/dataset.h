// The plan: immutable nodes that make iterators.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compute/args.h"
#include "data/random.h"
#include "data/spec.h"
#include "engine/indexed.h"
#include "engine/iterator.h"
#include "runtime/cancel.h"
#include "runtime/stage_label.h"
#include "runtime/thread_pool.h"

namespace penstock {

class Session;
class Dataset;
class CacheFills;
class CacheStore;
class Lookahead;

constexpr int64_t kInfinite = -1;
constexpr int64_t kUnknown = -2;
constexpr int64_t kAutotune = -1;

// What all random numbers of a run depend on, besides the plan. States keep it, and a cache keeps
// it with the elements that it was filled with.
struct RunIdentity {
  uint64_t seed = 0;
  int64_t root_run = 0;
  std::vector<std::pair<const Dataset*, int64_t>> runs;        // of the nodes that reshuffle
  std::vector<std::pair<const Dataset*, uint64_t>> own_seeds;  // of the nodes that have them

  // Nodes made while running share the root's number.
  int64_t RunNumber(const Dataset& node) const;
  // Of a node that has one.
  uint64_t OwnSeed(const Dataset& node) const;
  // Makes later runs continue from this one.
  void Continue(const Dataset& root) const;
  // The identity of the next run of a plan: takes a seed and counts the run. With `counted` false
  // nothing changes.
  static RunIdentity Next(const Dataset& root, bool counted);
  // Saves or restores, for the nodes in the plan of `root`.
  void VisitState(StateVisitor& visitor, const Dataset& root);
};

// The position of a part of a pipeline, for random keys.
struct RandomPlace {
  RandomKey branch;    // forks of the plan, and the elements of `path`
  RandomKey path;      // elements whose datasets contain this part
  uint64_t epoch = 0;  // counted from the first one of the outermost repeat

  RandomPlace Fork(uint64_t input) const { return {branch.Fold(input), path, epoch}; }
  RandomPlace Opened(uint64_t element) const {
    return {branch.Fold(element), path.Fold(element), epoch};
  }
  // The place in pass `pass` of `passes` (negative: infinite) over this part. In the first pass of
  // the first epoch it is the same as without the repeat.
  RandomPlace Pass(uint64_t pass, int64_t passes) const {
    if (passes >= 0) return {branch, path, epoch * static_cast<uint64_t>(passes) + pass};
    if (epoch == 0) return {branch, path, pass};
    return {branch.Fold(epoch), path.Fold(epoch), pass};
  }
  void Visit(StateVisitor& visitor);
};

// What a running stage is given: its session, when to stop, what its randomness depends on, where
// it is.
struct RunContext {
  Session* session;
  CancelToken cancel;
  RandomPlace place;
  std::string path;         // for statistics: "0.1"
  int64_t batch_rows = 0;   // rows that the consumer stacks: a stage may write them into its batch
  bool ragged = false;      // the consumer takes blocks in ragged form
  bool on_consumer = true;  // the consumer's thread runs it, not one of the engine's
  int depth = 0;        // number of nested functions that opened this dataset or started its run
  bool threads = true;  // stages may start threads; see MayStartThreads
  // A consumer may pull steps again that it has pulled before. They must come in the same order, so
  // deterministic=False has no effect.
  bool replayed = false;
  std::shared_ptr<const RunIdentity> identity = nullptr;
  std::shared_ptr<const CacheFills> fills = nullptr;  // of caches upstream
  Lookahead* lookahead = nullptr;  // of the stage that requests elements by their positions, if any

  // The form of a function that this run calls.
  const FunctionPtr& Called(const PlannedFunction& planned) const;
  // The same for a stage, `data`, whose function worker processes may call, `calls` at a time
  // (kAutotune: several). Throws an Error where the function cannot be sent to them.
  FunctionPtr Executed(const PlannedFunction& planned, const Dataset& data, int64_t calls) const;
  // The stage's statistics show the processes that make the calls of this function, if any do.
  void NoteWorkers(const FunctionPtr& called) const;
  RunContext Replayed() const {
    RunContext other = *this;
    other.replayed = true;
    return other;
  }
  // The context for a dataset that the stage's function has opened.
  RunContext Opened() const;
  // Whether stages may start threads at this depth. A function may open a dataset that calls the
  // same function again. If each level of this recursion started threads, their number would grow
  // without bound, and no stack would overflow and stop it. So deep levels run in the thread that
  // pulls them, with the same elements, order and states.
  static bool MayStartThreads(int depth);
  // The context of a dataset that an element was mapped to, or of an epoch.
  RunContext At(const RandomPlace& other_place) const {
    RunContext other = *this;
    other.place = other_place;
    other.batch_rows = 0;
    other.ragged = false;
    return other;
  }
  // The context for what a thread of the engine runs until `token` is cancelled.
  RunContext OnThread(CancelToken token) const {
    RunContext other = *this;
    other.cancel = std::move(token);
    other.on_consumer = false;
    return other;
  }
};

class Dataset : public std::enable_shared_from_this<Dataset> {
 public:
  virtual ~Dataset();

  // Makes this stage's iterator, with an entry in the statistics.
  IteratorPtr Start(const RunContext& context) const;
  // Starts input i on this stage's behalf. batch_rows, ragged: of its context.
  IteratorPtr StartInput(const RunContext& context, size_t i = 0, int64_t batch_rows = 0,
                         bool ragged = false) const;

  // The number of elements, kInfinite or kUnknown.
  virtual int64_t cardinality() const = 0;
  // Types and shapes; nullopt while they cannot be known without running a function.
  virtual MaybeSpec spec() const = 0;
  virtual const Indexed* indexed() const { return nullptr; }
  // Whether its elements may be passed over without making them: no work of theirs could fail or be
  // seen.
  virtual bool jumps() const { return indexed() != nullptr; }
  // Whether it produces ahead of its consumer, so that asking it for more rows starts no work.
  virtual bool asynchronous() const { return false; }
  // Whether its input and its functions run on threads of its own, never on the one that asks.
  virtual bool apart() const { return false; }
  // Whether the thread that asks runs functions of the user: what they have opened may belong to
  // it, so that no other may go on with its work.
  bool calls_inline() const { return calls_inline_; }
  // Whether pulling more rows than are needed yet has no effect that a user could see.
  bool quiet() const { return quiet_; }
  // Whether randomness does not depend on it.
  virtual bool transparent() const { return false; }
  // Whether it changes nothing but the timing (prefetch), so that states do not show it.
  bool timing() const { return timing_; }

  // The kind that makes it, and the name that users know it by (map, however it is run).
  const std::string& kind() const { return kind_; }
  const std::string& name() const { return label_.kind; }
  // The kind, with what distinguishes this stage from others of its kind.
  const StageLabel& label() const { return label_; }
  const std::vector<DatasetPtr>& inputs() const { return inputs_; }
  const Dataset& input(size_t i = 0) const { return *inputs_[i]; }
  // Stages from here to the furthest source.
  int depth() const { return depth_; }
  // The number of these that one thread runs nested in each other: up to a stage that is apart().
  int depth_in_line() const { return depth_in_line_; }
  // Whether this stage or one upstream calls into the foreign runtime.
  bool needs_lock() const { return needs_lock_; }
  // Whether this stage or one upstream has a function that suspends (Function::suspends).
  bool suspends() const { return suspends_; }
  Lane lane() const { return needs_lock_ ? Lane::kPython : Lane::kNative; }
  // Equal for equal chains from the source up to here: what a stage contributes to random keys.
  uint64_t chain() const { return chain_; }

  // Its counters in the statistics of the run.
  StageStats* Stats(const RunContext& context) const;

  // The inputs to this stage's random keys.
  StageRandom Randomness(const RunContext& context) const;

  // How often a run has been started over this node; for reshuffling.
  int64_t CountRun() const { return runs_.fetch_add(1, std::memory_order_relaxed); }
  int64_t runs() const { return runs_.load(std::memory_order_relaxed); }
  void SetRuns(int64_t next) const { runs_.store(next, std::memory_order_relaxed); }
  virtual bool counts_runs() const { return false; }
  // The seed of all runs over this node if the user set none; null for nodes without such a seed.
  // It lives as long as the node, and changes only when a state is restored.
  virtual std::atomic<uint64_t>* own_seed() const { return nullptr; }
  // What a cache, or a stage that keeps elements in files as a cache does, holds for all runs; null
  // for others.
  virtual CacheStore* cache_store() const { return nullptr; }
  // Whether this is such a cache, or one is upstream.
  bool holds_cache() const { return holds_cache_; }
  // Whether elements may overtake one another.
  virtual bool reorders(bool deterministic) const {
    (void)deterministic;
    return false;
  }
  // Calls `visit` for this node and all upstream, depth first, each once.
  void ForEachNode(const std::function<void(const Dataset&)>& visit) const;

  // Stores what element_spec learned by running the function once, when spec() could not say: what
  // is known of all elements, and the spec of the first one.
  void SetProbedSpec(ElementSpec known, ElementSpec first) const;
  // What is known of all elements; within a ShapesOfFirst, the spec of the first one.
  MaybeSpec probed_spec() const;

 protected:
  virtual IteratorPtr MakeIterator(const RunContext& context) const = 0;
  // The spec of the input, for stages that do not change it.
  MaybeSpec input_spec(size_t i = 0) const { return inputs_[i]->spec(); }

 private:
  friend DatasetPtr MakeDataset(const std::string&, std::vector<DatasetPtr>, const Args&);
  std::string kind_;
  StageLabel label_;
  std::vector<DatasetPtr> inputs_;
  int depth_ = 1;
  int depth_in_line_ = 1;
  bool needs_lock_ = false;
  bool suspends_ = false;
  bool calls_inline_ = false;
  bool quiet_ = true;
  bool holds_cache_ = false;
  bool timing_ = false;
  uint64_t chain_ = 0;
  const char* trace_name_ = nullptr;
  mutable std::atomic<int64_t> runs_{0};  // counts runs; the plan itself never changes
  mutable std::mutex probe_mutex_;        // a leaf lock over the cache below
  mutable MaybeSpec probed_, first_;      // a cache: computed from the plan alone
};

// While it lives, specs on this thread have the shapes of the first element where nothing is known
// of the others. It is for code that needs some shape, and checks that the elements have it.
class ShapesOfFirst {
 public:
  ShapesOfFirst();
  ~ShapesOfFirst();
  ShapesOfFirst(const ShapesOfFirst&) = delete;
  ShapesOfFirst& operator=(const ShapesOfFirst&) = delete;
};

// As many stages as fit on a stack of 8 MB, which threads usually have (see stack_need.h).
constexpr int kMaxDepth = 2000;

}  // namespace penstock
