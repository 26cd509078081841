// Saving, finding and completing fills.
#include "pipeline/cache_fills.h"

#include <algorithm>
#include <functional>
#include <set>

#include "pipeline/session.h"
#include "pipeline/state.h"

namespace penstock {
namespace {

// The numbers that nodes upstream of a cache have among all of the pipeline, which some draws hang
// on: of the others no more is restored than that they were there.
void VisitPlaces(StateVisitor& visitor, const Dataset& cache, RunIdentity& identity) {
  constexpr int64_t kMost = int64_t{1} << 16;
  std::vector<int64_t> places;
  if (visitor.saving()) {
    cache.ForEachNode([&](const Dataset& node) {
      if (!node.counts_runs()) return;
      auto of_node = [&node](auto& counted) { return counted.first == &node; };
      auto found = std::find_if(identity.runs.begin(), identity.runs.end(), of_node);
      places.push_back(found == identity.runs.end() ? -1 : found - identity.runs.begin());
    });
  }
  visitor.IntsIn(places, -1, kMost - 1, "the place of a stage among all");
  if (visitor.saving()) return;
  visitor.Demand(places.size() == identity.runs.size(), "every stage must have a place");
  std::vector<std::pair<const Dataset*, int64_t>> placed;
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] < 0) continue;  // made while running, it has none
    auto at = static_cast<size_t>(places[i]);
    if (placed.size() <= at) placed.resize(at + 1);
    placed[at] = identity.runs[i];
  }
  identity.runs = std::move(placed);
}

}  // namespace

CacheFill::CacheFill(const Dataset& cache, const RunContext& context)
    : cache_(cache), place_(context.place), identity_(*context.identity), below_(context.fills) {
  StateVisitor saving(&text_);
  Visit(saving);
}

CacheFill::CacheFill(const Dataset& cache, StateVisitor& visitor) : cache_(cache) {
  Visit(visitor);
  StateVisitor saving(&text_);
  Visit(saving);
}

void CacheFill::Visit(StateVisitor& visitor) {
  visitor.UInt(place_.value);
  identity_.VisitState(visitor, cache_);
  VisitPlaces(visitor, cache_, identity_);
  CacheFills::VisitState(visitor, cache_.input(), nullptr, below_);
}

void CacheFill::VisitState(StateVisitor& visitor) { Visit(visitor); }

RunContext CacheFill::Of(const RunContext& context) const {
  RunContext other = context;
  other.place = place_;
  other.identity = std::make_shared<const RunIdentity>(identity_);
  other.fills = below_;
  return other;
}

CacheFill::Rows CacheFill::rows() const {
  std::lock_guard lock(mutex_);
  return rows_;
}

void CacheFill::Keep(Rows rows) {
  std::lock_guard lock(mutex_);
  if (!rows_) rows_ = std::move(rows);
}

CacheFillPtr CacheFills::Of(const Dataset& cache) const {
  for (auto& [node, fill] : fills_) {
    if (node == &cache) return fill;
  }
  return nullptr;
}

namespace {

// The caches from `root` on, depth first, each once; `visit` says whether to go on upstream of one.
void ForEachCache(const Dataset& root, const std::function<bool(const Dataset&)>& visit) {
  std::vector<const Dataset*> open{&root};
  std::set<const Dataset*> seen;
  while (!open.empty()) {
    const Dataset* node = open.back();
    open.pop_back();
    if (!node->holds_cache() || !seen.insert(node).second) continue;
    if (node->cache_store() && !visit(*node)) continue;
    for (size_t i = node->inputs().size(); i > 0; --i) open.push_back(&node->input(i - 1));
  }
}

}  // namespace

void CacheFills::VisitState(StateVisitor& visitor, const Dataset& root, RunFills* run,
                            std::shared_ptr<const CacheFills>& fills) {
  if (!root.holds_cache()) return;
  auto restored = std::make_shared<CacheFills>();
  ForEachCache(root, [&](const Dataset& cache) {
    CacheFillPtr fill = fills ? fills->Of(cache) : nullptr;
    bool filled = fill != nullptr;
    visitor.Bool(filled);
    if (!filled) return true;
    if (visitor.saving()) {
      fill->VisitState(visitor);
    } else {
      fill = std::make_shared<CacheFill>(cache, visitor);
      restored->Add(cache, run ? run->Bind(cache, fill) : fill);
    }
    return false;
  });
  if (!visitor.saving()) fills = std::move(restored);
}

std::shared_ptr<const CacheFills> CacheFills::Now(const Dataset& root, const RunFills& run,
                                                  std::shared_ptr<const CacheFills> known) {
  if (!root.holds_cache()) return known;
  auto all = known ? std::make_shared<CacheFills>(*known) : std::make_shared<CacheFills>();
  ForEachCache(root, [&](const Dataset& cache) {
    CacheFillPtr fill = all->Of(cache) ? nullptr : run.Now(cache);
    if (fill) all->Add(cache, std::move(fill));
    return true;
  });
  return all;
}

CacheFillPtr CacheStore::fill() const {
  std::lock_guard lock(mutex_);
  return fill_;
}

void CacheStore::Offer(const CacheFillPtr& fill) {
  std::lock_guard lock(mutex_);
  if (!fill_) fill_ = fill;
}

RunFills::RunFills(const Dataset& root) {
  ForEachCache(root, [this](const Dataset& cache) {
    caches_.push_back(&cache);
    return true;
  });
}

bool RunFills::Planned(const Dataset& cache) const {
  return std::find(caches_.begin(), caches_.end(), &cache) != caches_.end();
}

std::shared_ptr<const CacheFills> RunFills::AtStart() const {
  auto all = std::make_shared<CacheFills>();
  for (const Dataset* cache : caches_) {
    if (CacheFillPtr fill = cache->cache_store()->fill()) all->Add(*cache, std::move(fill));
  }
  return all;
}

std::shared_ptr<const CacheFills> RunFills::Made() const {
  std::lock_guard lock(mutex_);
  auto all = std::make_shared<CacheFills>();
  for (const Dataset* cache : caches_) {
    if (CacheFillPtr own = Own(*cache, nullptr)) all->Add(*cache, std::move(own));
  }
  return all;
}

CacheFillPtr RunFills::Own(const Dataset& cache, const CacheFill* like) const {
  for (auto& [node, fill] : fills_) {
    if (node == &cache && (!like || *fill == *like)) return fill;
  }
  return nullptr;
}

CacheFillPtr RunFills::Find(const Dataset& cache, const CacheFill* like) const {
  if (CacheFillPtr own = Own(cache, like)) return own;
  CacheFillPtr held = cache.cache_store()->fill();
  return held && (!like || *held == *like) ? held : nullptr;
}

CacheFillPtr RunFills::Now(const Dataset& cache) const {
  std::lock_guard lock(mutex_);
  return Find(cache, nullptr);
}

CacheFillPtr RunFills::For(const Dataset& cache, const RunContext& context) const {
  CacheFillPtr fill = context.fills ? context.fills->Of(cache) : nullptr;
  if (!fill && !Planned(cache)) fill = Now(cache);
  if (fill) return fill;
  fill = std::make_shared<CacheFill>(cache, context);
  std::lock_guard lock(mutex_);
  CacheFillPtr found = Find(cache, fill.get());
  return found ? found : fill;
}

CacheFillPtr RunFills::Bind(const Dataset& cache, CacheFillPtr fill) {
  std::lock_guard lock(mutex_);
  if (CacheFillPtr found = Find(cache, fill.get())) fill = std::move(found);
  if (Planned(cache) && !Own(cache, fill.get())) fills_.emplace_back(&cache, fill);
  return fill;
}

void RunFills::Complete(const Dataset& cache, const CacheFillPtr& fill, CacheFill::Rows rows) {
  std::lock_guard lock(mutex_);
  if (Planned(cache) && !Own(cache, fill.get())) {
    // A second pass beside the first one: what comes later reads that.
    if (Own(cache, nullptr)) return;
    fills_.emplace_back(&cache, fill);
  }
  fill->Keep(std::move(rows));
  cache.cache_store()->Offer(fill);
}

}  // namespace penstock
