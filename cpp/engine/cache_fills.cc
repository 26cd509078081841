// Saving, finding and completing fills.
#include "engine/cache_fills.h"

#include <algorithm>
#include <functional>
#include <set>

#include "engine/session.h"
#include "engine/state.h"

namespace penstock {
namespace {

// Visits the indices of the nodes upstream of a cache among all counting nodes of the pipeline,
// since some draws depend on them. Of the other nodes, only their existence is restored.
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
  visitor.IntsIn(places, -1, kMost - 1, "the position of a stage among all");
  if (visitor.saving()) return;
  visitor.Demand(places.size() == identity.runs.size(), "every stage must have a position");
  std::vector<std::pair<const Dataset*, int64_t>> placed;
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] < 0) continue;  // created during the run, so it has no index
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

CacheFillPtr CacheFill::FromFile(const Dataset& cache, const std::string& text) {
  try {
    StateVisitor visitor{std::string_view(text)};
    auto fill = std::make_shared<CacheFill>(cache, visitor);
    visitor.ExpectEnd();
    return fill;
  } catch (const Error&) {
    // Older states begin with the same fields, but do not say which stage a fill belongs to.
  }
  try {
    StateVisitor visitor{std::string_view(text)};
    CacheFillPtr fill(new CacheFill(cache));
    visitor.UInt(fill->place_.branch.value);
    fill->identity_.VisitState(visitor, cache);
    StateVisitor saving(&fill->text_);
    fill->Visit(saving);
    return fill;
  } catch (const Error&) {
    throw Error(ErrorKind::kData, "what decided the random numbers of its elements is damaged");
  }
}

void CacheFill::Visit(StateVisitor& visitor) {
  place_.Visit(visitor);
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

// Visits the caches upstream of `root`, depth first, each once. `visit` returns whether to continue
// upstream of a cache.
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
  restored->restored_ = true;
  if (!visitor.saving()) fills = std::move(restored);
}

std::shared_ptr<const CacheFills> CacheFills::Outermost(const Dataset& root) const {
  auto outermost = std::make_shared<CacheFills>();
  ForEachCache(root, [&](const Dataset& cache) {
    CacheFillPtr fill = Of(cache);
    if (fill) outermost->Add(cache, fill);
    return !fill;
  });
  return outermost;
}

std::shared_ptr<const CacheFills> CacheFills::Now(const Dataset& root, const RunFills& run,
                                                  std::shared_ptr<const CacheFills> known) {
  if (!root.holds_cache()) return known;
  auto all = known ? std::make_shared<CacheFills>(*known) : std::make_shared<CacheFills>();
  ForEachCache(root, [&](const Dataset& cache) {
    CacheFillPtr before = all->Of(cache);
    if (before && !cache.cache_store()->in_files()) return true;
    CacheFillPtr fill = run.Now(cache, before, all->restored_);
    if (fill != before) all->Set(cache, std::move(fill));
    return true;
  });
  return all;
}

void CacheFills::Set(const Dataset& cache, CacheFillPtr fill) {
  std::erase_if(fills_, [&cache](auto& known) { return known.first == &cache; });
  Add(cache, std::move(fill));
}

CacheFillPtr MemoryStore::fill() const {
  std::lock_guard lock(mutex_);
  return fill_;
}

CacheFillPtr FileStore::fill() const {
  try {
    return look_();
  } catch (const Error&) {
    return nullptr;  // reported by the pass that opens or creates the file
  }
}

void MemoryStore::Offer(const CacheFillPtr& fill) {
  std::lock_guard lock(mutex_);
  if (!fill_) fill_ = fill;
}

void MemoryStore::Restore(const CacheFillPtr& fill) {
  std::lock_guard lock(mutex_);
  if (!fill_ || !(*fill_ == *fill)) fill_ = fill;
}

void FileStore::Restore(const CacheFillPtr& fill) {
  std::lock_guard lock(mutex_);
  owed_ = fill;
}

CacheFillPtr FileStore::owed() const {
  std::lock_guard lock(mutex_);
  return owed_;
}

void FileStore::Settle(const CacheFill& fill) {
  std::lock_guard lock(mutex_);
  if (owed_ && *owed_ == fill) owed_.reset();
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
    if (CacheFillPtr fill = cache->cache_store()->ForRuns()) all->Add(*cache, std::move(fill));
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

void RunFills::VisitState(StateVisitor& visitor, const Dataset& root,
                          std::shared_ptr<const CacheFills>& at_start) {
  if (!root.holds_cache()) return;
  std::shared_ptr<const CacheFills> made;
  if (visitor.saving()) made = Made();
  CacheFills::VisitState(visitor, root, this, at_start);
  CacheFills::VisitState(visitor, root, this, made);
  const auto first = (at_start ? *at_start : CacheFills()).Outermost(root);
  const auto later = made->Outermost(root);
  if (!visitor.saving()) restored_.clear();
  ForEachCache(root, [&](const Dataset& cache) {
    CacheFillPtr known = later->Of(cache);
    if (!known) known = first->Of(cache);
    CacheFillPtr other;
    const CacheStore& store = *cache.cache_store();
    if (visitor.saving() && !(known && store.in_files())) other = store.ForRuns();
    bool differs = other && !(known && *known == *other);
    visitor.Bool(differs);
    if (differs && visitor.saving()) other->VisitState(visitor);
    if (visitor.saving()) return true;
    if (differs) known = Same(cache, std::make_shared<CacheFill>(cache, visitor));
    if (known) restored_.emplace_back(&cache, std::move(known));
    return true;
  });
}

void RunFills::Restore() {
  for (auto& [cache, fill] : std::exchange(restored_, {})) cache->cache_store()->Restore(fill);
}

CacheFillPtr RunFills::Own(const Dataset& cache, const CacheFill* like) const {
  for (const Known& known : fills_) {
    if (known.cache == &cache && (!like || *known.fill == *like)) return known.fill;
  }
  return nullptr;
}

bool RunFills::Owed(const Dataset& cache, const CacheFill& fill) const {
  return std::any_of(fills_.begin(), fills_.end(), [&](const Known& known) {
    return known.cache == &cache && known.owed && *known.fill == fill;
  });
}

CacheFillPtr RunFills::Find(const Dataset& cache, const CacheFill* like) const {
  if (CacheFillPtr own = Own(cache, like)) return own;
  if (cache.cache_store()->in_files()) return nullptr;  // not accessed under the lock
  CacheFillPtr held = cache.cache_store()->fill();
  return held && (!like || *held == *like) ? held : nullptr;
}

CacheFillPtr RunFills::Now(const Dataset& cache, CacheFillPtr known, bool restored) const {
  if (!cache.cache_store()->in_files()) {
    std::lock_guard lock(mutex_);
    if (known) return known;
    return restored ? Own(cache, nullptr) : Find(cache, nullptr);
  }
  {
    std::lock_guard lock(mutex_);
    if (!known) known = Find(cache, nullptr);
    bool ours = restored && (!known || Owed(cache, *known));
    if (ours) return known;
  }
  CacheFillPtr owed = cache.cache_store()->owed();
  if (owed && (!known || *known == *owed)) return owed;
  CacheFillPtr held = cache.cache_store()->fill();
  return held ? held : known;
}

CacheFillPtr RunFills::For(const Dataset& cache, const RunContext& context) const {
  CacheFillPtr fill = context.fills ? context.fills->Of(cache) : nullptr;
  if (!fill && !Planned(cache)) fill = Now(cache, nullptr, false);
  if (fill) return fill;
  return Same(cache, std::make_shared<CacheFill>(cache, context));
}

CacheFillPtr RunFills::Same(const Dataset& cache, CacheFillPtr fill) const {
  std::lock_guard lock(mutex_);
  CacheFillPtr found = Find(cache, fill.get());
  return found ? found : fill;
}

CacheFillPtr RunFills::Bind(const Dataset& cache, CacheFillPtr fill) {
  std::lock_guard lock(mutex_);
  if (CacheFillPtr found = Find(cache, fill.get())) fill = std::move(found);
  if (!Planned(cache) || Own(cache, fill.get())) return fill;
  // For files, the newest fill comes first, since later stages use the first.
  auto at = cache.cache_store()->in_files() ? fills_.begin() : fills_.end();
  fills_.insert(at, {&cache, fill, true});
  return fill;
}

void RunFills::Complete(const Dataset& cache, const CacheFillPtr& fill, CacheFill::Rows rows) {
  std::lock_guard lock(mutex_);
  if (Planned(cache) && !Own(cache, fill.get())) {
    // A pass concurrent with the first one: later stages read the fill of the first.
    if (Own(cache, nullptr)) return;
    fills_.push_back({&cache, fill, false});
  }
  fill->Keep(std::move(rows));
  cache.cache_store()->Offer(fill);
}

void RunFills::Kept(const Dataset& cache, const CacheFillPtr& fill) {
  cache.cache_store()->Settle(*fill);
  std::lock_guard lock(mutex_);
  if (!Planned(cache)) return;
  CacheFillPtr own = Own(cache, nullptr);
  if (own && !(*own == *fill) && Owed(cache, *own)) return;
  std::erase_if(fills_, [&cache](const Known& known) { return known.cache == &cache; });
  fills_.push_back({&cache, fill, false});
}

void RunFills::Owe(const Dataset& cache, const CacheFillPtr& fill) {
  std::lock_guard lock(mutex_);
  if (!Planned(cache) || Own(cache, nullptr)) return;
  fills_.push_back({&cache, fill, true});
  cache.cache_store()->Restore(fill);
}

bool RunFills::MayWrite(const Dataset& cache, const CacheFill& fill) const {
  CacheFillPtr own;
  {
    std::lock_guard lock(mutex_);
    own = Own(cache, nullptr);
  }
  if (!own || *own == fill) return true;
  CacheFillPtr held = cache.cache_store()->fill();
  return !held || !(*held == *own);
}

}  // namespace penstock
