// Starting stages: derives their statistics, names and keys from their place in the plan.
#include "engine/dataset.h"

#include <set>

#include "engine/auto_function.h"
#include "engine/session.h"
#include "engine/stack_need.h"
#include "runtime/pump.h"
#include "runtime/trace.h"

namespace penstock {

namespace {

// The number of nested functions that counts as infinite recursion. Python's own limit is also 1000
// calls. Without a limit, the stack would overflow thousands of levels and many seconds later. The
// limit is lower for stages with threads, because many threads may take part in the recursion.
constexpr int kMaxNestedFunctions = 1000;
constexpr int kMaxThreadedFunctions = 100;

// While this thread destroys a plan: the nodes still to destroy.
constinit thread_local std::vector<DatasetPtr>* dropped = nullptr;
}  // namespace

// Iterative, because chains are long.
Dataset::~Dataset() {
  if (dropped) {
    try {
      for (DatasetPtr& input : inputs_) dropped->push_back(std::move(input));
    } catch (const std::bad_alloc&) {  // the rest is destroyed recursively
    }
    return;
  }
  std::vector<DatasetPtr> open = std::move(inputs_);
  dropped = &open;
  while (!open.empty()) {
    DatasetPtr next = std::move(open.back());
    open.pop_back();
  }
  dropped = nullptr;
}

bool RunContext::MayStartThreads(int depth) {
  // Each level multiplies the number of threads. The last level may already have many, because the
  // levels above are wide.
  constexpr int kMaxDepth = 2;
  constexpr int kManyThreads = 64;
  return depth < kMaxDepth || (depth == kMaxDepth && Pump::running() < kManyThreads);
}

RunContext RunContext::Opened() const {
  RunContext other = *this;
  other.path += ".*";
  ++other.depth;
  other.threads = threads && MayStartThreads(other.depth);
  return other;
}

const FunctionPtr& RunContext::Called(const PlannedFunction& planned) const {
  const bool debugs = planned.debugged && session->options().debug;
  const FunctionPtr& called = debugs ? planned.debugged : planned.usual;
  NoteWorkers(called);
  return called;
}

void RunContext::NoteWorkers(const FunctionPtr& called) const {
  if (called && called->has_workers())
    session->stats().SetWorkers(path, [called] { return called->Workers(); });
}

FunctionPtr RunContext::Executed(const PlannedFunction& planned, const Dataset& data,
                                 int64_t calls) const {
  const RunOptions& options = session->options();
  if (options.debug || !planned.gone_over) return Called(planned);
  const bool of_run = planned.executor == Executor::kOfRun;
  switch (of_run ? options.executor : planned.executor) {
    case Executor::kProcess: {
      FunctionPtr called = planned.usual->InProcesses(data.name());
      NoteWorkers(called);
      return called;
    }
    case Executor::kAuto:
      return MakeAutoFunction(*this, planned, data, calls);
    default:
      return planned.usual;
  }
}

IteratorPtr Dataset::Start(const RunContext& context) const {
  Session& session = *context.session;
  const int in_line = context.threads ? depth_in_line_ : depth_;
  if (context.depth > (asynchronous() ? kMaxThreadedFunctions : kMaxNestedFunctions)) {
    throw Error(ErrorKind::kRecursion,
                "{}: functions have opened datasets on {} nested levels; a function that opens its "
                "own pipeline again needs a condition to stop",
                label_.text(), context.depth);
  }
  RequireStack(StackUse::kStart, depth_);
  RequireStack(StackUse::kRun, in_line);
  if (context.on_consumer) session.NoteStack(StackFor(StackUse::kRun, in_line));
  IteratorPtr iterator = MakeIterator(context);
  const std::string& run = context.session->options().name;
  const char* shown = run.empty() ? trace_name_ : InternName(run + ": " + label_.text());
  iterator->Attach(&label_, shown, context.session->stats().Add(context.path, label_),
                   context.cancel);
  return iterator;
}

StageStats* Dataset::Stats(const RunContext& context) const {
  return context.session->stats().Add(context.path, {kind_, label_.name, label_.function});
}

IteratorPtr Dataset::StartInput(const RunContext& context, size_t i, int64_t batch_rows,
                                bool ragged) const {
  RunContext below = context;
  below.batch_rows = batch_rows;
  below.ragged = ragged;
  below.path += "." + std::to_string(i);
  // Only forks need to distinguish branches; along a chain, the stages do (chain()).
  if (inputs_.size() > 1) below.place = context.place.Fork(i);
  return inputs_[i]->Start(below);
}

StageRandom Dataset::Randomness(const RunContext& context) const {
  const RandomPlace& place = context.place;
  return {context.identity->seed, place.branch.Fold(chain_).Fold(place.epoch),
          place.path.Fold(place.epoch)};
}

void Dataset::ForEachNode(const std::function<void(const Dataset&)>& visit) const {
  std::vector<const Dataset*> open{this};  // an explicit stack, because chains are long
  std::set<const Dataset*> seen;
  while (!open.empty()) {
    const Dataset* node = open.back();
    open.pop_back();
    if (!seen.insert(node).second) continue;
    visit(*node);
    for (size_t i = node->inputs().size(); i > 0; --i) open.push_back(&node->input(i - 1));
  }
}

int64_t RunIdentity::RunNumber(const Dataset& node) const {
  for (auto& [counted, run] : runs) {
    if (counted == &node) return run;
  }
  return root_run;
}

uint64_t RunIdentity::OwnSeed(const Dataset& node) const {
  for (auto& [owner, own] : own_seeds) {
    if (owner == &node) return own;
  }
  return node.own_seed()->load(std::memory_order_relaxed);
}

void RunIdentity::Continue(const Dataset& root) const {
  for (auto& [node, run] : runs) node->SetRuns(run + 1);
  root.SetRuns(root_run + 1);
  for (auto& [node, own] : own_seeds) node->own_seed()->store(own, std::memory_order_relaxed);
}

RunIdentity RunIdentity::Next(const Dataset& root, bool counted) {
  auto run_of = [counted](const Dataset& node) { return counted ? node.CountRun() : node.runs(); };
  RunIdentity identity;
  if (counted) identity.seed = NextSessionSeed();
  identity.root_run = run_of(root);
  root.ForEachNode([&](const Dataset& node) {
    if (auto* own = node.own_seed()) {
      identity.own_seeds.emplace_back(&node, own->load(std::memory_order_relaxed));
    }
    if (!node.counts_runs()) return;
    identity.runs.emplace_back(&node, &node == &root ? identity.root_run : run_of(node));
  });
  return identity;
}

void RunIdentity::VisitState(StateVisitor& visitor, const Dataset& root) {
  visitor.UInt(seed);
  visitor.IntIn(root_run, -1, StateVisitor::kMostCount, "the number of the run");
  std::vector<std::pair<const Dataset*, int64_t>> visited;
  std::vector<std::pair<const Dataset*, uint64_t>> visited_seeds;
  root.ForEachNode([&](const Dataset& node) {
    if (node.own_seed()) {
      uint64_t own = OwnSeed(node);
      visitor.UInt(own);
      visited_seeds.emplace_back(&node, own);
    }
    if (!node.counts_runs()) return;
    int64_t run = RunNumber(node);
    visitor.IntIn(run, -1, StateVisitor::kMostCount, "the number of a run");
    visited.emplace_back(&node, run);
  });
  if (visitor.saving()) return;
  runs = std::move(visited);
  own_seeds = std::move(visited_seeds);
}

void RandomPlace::Visit(StateVisitor& visitor) {
  visitor.UInt(branch.value);
  visitor.UInt(path.value);
  visitor.UInt(epoch);
}

namespace {

thread_local int g_shapes_of_first = 0;  // number of instances alive on this thread

}  // namespace

ShapesOfFirst::ShapesOfFirst() { ++g_shapes_of_first; }
ShapesOfFirst::~ShapesOfFirst() { --g_shapes_of_first; }

void Dataset::SetProbedSpec(ElementSpec known, ElementSpec first) const {
  std::lock_guard lock(probe_mutex_);
  probed_ = std::move(known);
  first_ = std::move(first);
}

MaybeSpec Dataset::probed_spec() const {
  std::lock_guard lock(probe_mutex_);
  return g_shapes_of_first > 0 ? first_ : probed_;
}

}  // namespace penstock
