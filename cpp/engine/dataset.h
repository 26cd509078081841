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

// Everything that a run's random numbers depend on except the plan. Saved in states, and in a cache
// with its elements.
struct RunIdentity {
  uint64_t seed = 0;
  int64_t root_run = 0;
  std::vector<std::pair<const Dataset*, int64_t>> runs;        // nodes that reshuffle in each run
  std::vector<std::pair<const Dataset*, uint64_t>> own_seeds;  // nodes with a seed for all runs

  // Nodes created during the run use the root's number.
  int64_t RunNumber(const Dataset& node) const;
  // For a node with own_seed().
  uint64_t OwnSeed(const Dataset& node) const;
  // Makes the next run continue after this one.
  void Continue(const Dataset& root) const;
  // Returns the identity of the next run of a plan: draws a seed and counts the run. If `counted`
  // is false, it does neither.
  static RunIdentity Next(const Dataset& root, bool counted);
  // Saves or restores the identity for the nodes in the plan of `root`.
  void VisitState(StateVisitor& visitor, const Dataset& root);
};

// The position in the pipeline, as input to random keys.
struct RandomPlace {
  RandomKey branch;    // forks of the plan, and the elements of `path`
  RandomKey path;      // elements whose datasets contain this part
  uint64_t epoch = 0;  // counted from the first epoch of the outermost repeat

  RandomPlace Fork(uint64_t input) const { return {branch.Fold(input), path, epoch}; }
  RandomPlace Opened(uint64_t element) const {
    return {branch.Fold(element), path.Fold(element), epoch};
  }
  // The place in pass `pass` of `passes` (negative: infinite) over this part. In the first pass of
  // the first epoch it is the same as without repeat.
  RandomPlace Pass(uint64_t pass, int64_t passes) const {
    if (passes >= 0) return {branch, path, epoch * static_cast<uint64_t>(passes) + pass};
    if (epoch == 0) return {branch, path, pass};
    return {branch.Fold(epoch), path.Fold(epoch), pass};
  }
  void Visit(StateVisitor& visitor);
};

// The environment of a running stage: its session, cancellation, place for random keys, and path.
struct RunContext {
  Session* session;
  CancelToken cancel;
  RandomPlace place;
  std::string path;         // in the statistics, such as "0.1"
  int64_t batch_rows = 0;   // rows per batch of the consumer; the stage may write into its batch
  bool ragged = false;      // the consumer accepts blocks in ragged form
  bool on_consumer = true;  // runs on the consumer's thread, not on one of the engine's
  int depth = 0;        // number of nested functions that opened this dataset or started its run
  bool threads = true;  // stages may start threads; see MayStartThreads
  // The consumer may pull the same steps twice. They must arrive in the same order, so
  // deterministic=False has no effect.
  bool replayed = false;
  std::shared_ptr<const RunIdentity> identity = nullptr;
  std::shared_ptr<const CacheFills> fills = nullptr;  // of caches upstream
  Lookahead* lookahead = nullptr;  // of a stage that requests elements by position, if any

  // The form of the function that this run calls.
  const FunctionPtr& Called(const PlannedFunction& planned) const;
  // The same for a stage `data` whose function may run in worker processes, with `calls` concurrent
  // calls (kAutotune: several). Throws an Error if the function cannot be sent to them.
  FunctionPtr Executed(const PlannedFunction& planned, const Dataset& data, int64_t calls) const;
  // Adds the worker processes that call this function, if any, to the stage's statistics.
  void NoteWorkers(const FunctionPtr& called) const;
  RunContext Replayed() const {
    RunContext other = *this;
    other.replayed = true;
    return other;
  }
  // The context for a dataset opened by the stage's function.
  RunContext Opened() const;
  // Whether stages may start threads at this depth. A function may open a dataset that calls the
  // same function again. If each level of this recursion started threads, their number would grow
  // without bound, and no stack overflow would stop it. So deep levels run in the thread that pulls
  // them, with the same elements, order and states.
  static bool MayStartThreads(int depth);
  // The context for a dataset that an element was mapped to, or for an epoch.
  RunContext At(const RandomPlace& other_place) const {
    RunContext other = *this;
    other.place = other_place;
    other.batch_rows = 0;
    other.ragged = false;
    return other;
  }
  // The context for work on one of the engine's threads, until `token` is cancelled.
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

  // Creates this stage's iterator and its entry in the statistics.
  IteratorPtr Start(const RunContext& context) const;
  // Starts input i for this stage. batch_rows, ragged: fields of the input's context.
  IteratorPtr StartInput(const RunContext& context, size_t i = 0, int64_t batch_rows = 0,
                         bool ragged = false) const;

  // The number of elements, kInfinite or kUnknown.
  virtual int64_t cardinality() const = 0;
  // Types and shapes; nullopt if they are unknown until a function has run.
  virtual MaybeSpec spec() const = 0;
  virtual const Indexed* indexed() const { return nullptr; }
  // Whether elements can be skipped without producing them, because producing them has no visible
  // effect and cannot fail.
  virtual bool jumps() const { return indexed() != nullptr; }
  // Whether it produces ahead of its consumer, so that requesting more rows starts no work.
  virtual bool asynchronous() const { return false; }
  // Whether its input and functions always run on the stage's own threads, never on the caller's.
  virtual bool apart() const { return false; }
  // Whether user functions run on the caller's thread. Objects they open may belong to that thread,
  // so no other thread may continue its work.
  bool calls_inline() const { return calls_inline_; }
  // Whether pulling more rows than needed has no effect visible to the user.
  bool quiet() const { return quiet_; }
  // Whether random keys ignore this stage.
  virtual bool transparent() const { return false; }
  // Whether it affects only timing (prefetch), so that states omit it.
  bool timing() const { return timing_; }

  // The registered kind, and the name users know it by ("map" for every form of map).
  const std::string& kind() const { return kind_; }
  const std::string& name() const { return label_.kind; }
  // The kind, plus what distinguishes this stage from others of its kind.
  const StageLabel& label() const { return label_; }
  const std::vector<DatasetPtr>& inputs() const { return inputs_; }
  const Dataset& input(size_t i = 0) const { return *inputs_[i]; }
  // The number of stages from here to the furthest source.
  int depth() const { return depth_; }
  // The length of the part of that chain which one thread runs nested: up to a stage that is
  // apart().
  int depth_in_line() const { return depth_in_line_; }
  // Whether this stage or one upstream calls into the foreign runtime.
  bool needs_lock() const { return needs_lock_; }
  // Whether this stage or one upstream has a function that suspends (Function::suspends).
  bool suspends() const { return suspends_; }
  Lane lane() const { return needs_lock_ ? Lane::kPython : Lane::kNative; }
  // Identifies the chain from the source up to here: the stage's contribution to random keys.
  uint64_t chain() const { return chain_; }

  // The stage's counters in the statistics of the run.
  StageStats* Stats(const RunContext& context) const;

  // The inputs to this stage's random keys.
  StageRandom Randomness(const RunContext& context) const;

  // How often a run was started over this node; used for reshuffling.
  int64_t CountRun() const { return runs_.fetch_add(1, std::memory_order_relaxed); }
  int64_t runs() const { return runs_.load(std::memory_order_relaxed); }
  void SetRuns(int64_t next) const { runs_.store(next, std::memory_order_relaxed); }
  virtual bool counts_runs() const { return false; }
  // The seed that all runs over this node use if the user set none; null for nodes without one. It
  // lives as long as the node, and changes only when a state is restored.
  virtual std::atomic<uint64_t>* own_seed() const { return nullptr; }
  // The contents shared by all runs, if this is a cache or a stage that keeps elements in files
  // like a cache; null otherwise.
  virtual CacheStore* cache_store() const { return nullptr; }
  // Whether this node or one upstream has a cache_store().
  bool holds_cache() const { return holds_cache_; }
  // Whether elements may be delivered out of order.
  virtual bool reorders(bool deterministic) const {
    (void)deterministic;
    return false;
  }
  // Calls `visit` once for this node and each node upstream, depth first.
  void ForEachNode(const std::function<void(const Dataset&)>& visit) const;

  // Stores the specs that element_spec found by running the function once, because spec() could
  // not: `known` holds for all elements, `first` describes the first one.
  void SetProbedSpec(ElementSpec known, ElementSpec first) const;
  // The spec of all elements; inside a ShapesOfFirst, that of the first element.
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
  mutable std::atomic<int64_t> runs_{0};  // the number of runs; the plan itself never changes
  mutable std::mutex probe_mutex_;        // a leaf lock; protects the cache below
  mutable MaybeSpec probed_, first_;      // a cache: computed from the plan alone
};

// While alive, specs on this thread fall back to the shapes of the first element where those of the
// others are unknown. For code that needs some shape and checks that the elements have it.
class ShapesOfFirst {
 public:
  ShapesOfFirst();
  ~ShapesOfFirst();
  ShapesOfFirst(const ShapesOfFirst&) = delete;
  ShapesOfFirst& operator=(const ShapesOfFirst&) = delete;
};

// Fits on an 8 MB stack, the usual size for threads (see stack_need.h).
constexpr int kMaxDepth = 2000;

}  // namespace penstock
