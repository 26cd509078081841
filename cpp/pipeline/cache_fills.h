// What caches in memory were filled with: part of what decides a run's elements, beside its seed.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/dataset.h"
#include "pipeline/iterator.h"

namespace penstock {

class RunFills;

// A pass over the input of a cache, by all that decides its elements. They may be there, or be made
// again.
class CacheFill {
 public:
  using Rows = std::shared_ptr<const std::vector<Block>>;

  CacheFill(const Dataset& cache, const RunContext& context);
  // From what VisitState has saved.
  CacheFill(const Dataset& cache, StateVisitor& visitor);

  void VisitState(StateVisitor& visitor);
  // The context of that pass, for one that makes the same elements.
  RunContext Of(const RunContext& context) const;
  bool operator==(const CacheFill& other) const { return text_ == other.text_; }

  Rows rows() const;  // null while they are not there
  void Keep(Rows rows);

 private:
  void Visit(StateVisitor& visitor);

  const Dataset& cache_;
  RandomKey place_;
  RunIdentity identity_;
  std::shared_ptr<const CacheFills> below_;  // of caches upstream
  std::string text_;                         // all of this as a state has it
  mutable std::mutex mutex_;                 // a leaf lock over the rows, which are set once
  Rows rows_;
};
using CacheFillPtr = std::shared_ptr<CacheFill>;

// Which fill each cache in memory has, as a stage finds it when it starts its input. Never changes.
class CacheFills {
 public:
  CacheFillPtr Of(const Dataset& cache) const;
  void Add(const Dataset& cache, CacheFillPtr fill) {
    fills_.emplace_back(&cache, std::move(fill));
  }

  // Saves or restores, for the caches in the plan of `root`; those upstream of another that has a
  // fill are in that. `fills` may be null: none. `run`, when it restores: that they are for.
  static void VisitState(StateVisitor& visitor, const Dataset& root, RunFills* run,
                         std::shared_ptr<const CacheFills>& fills);
  // `known`, and for the other caches in the plan of `root` what they hold now.
  static std::shared_ptr<const CacheFills> Now(const Dataset& root, const RunFills& run,
                                               std::shared_ptr<const CacheFills> known);

 private:
  std::vector<std::pair<const Dataset*, CacheFillPtr>> fills_;
};

// What a cache in memory holds for all runs: the first complete fill.
class CacheStore {
 public:
  CacheFillPtr fill() const;
  void Offer(const CacheFillPtr& fill);  // complete; kept if it is the first

 private:
  mutable std::mutex mutex_;  // a leaf lock over the pointer, which is set once
  CacheFillPtr fill_;
};

// The fills of one run: those that it has made, and those that a state has told of. A state may ask
// for another one than that which the cache holds. Of caches that functions return, which come and
// go, nothing is known but what they hold.
class RunFills {
 public:
  explicit RunFills(const Dataset& root);

  // What all caches hold when the run begins.
  std::shared_ptr<const CacheFills> AtStart() const;
  // Those that it has made itself, or taken from a state: what later epochs read.
  std::shared_ptr<const CacheFills> Made() const;
  // What a stage that starts its input now finds in a cache; null: nothing yet.
  CacheFillPtr Now(const Dataset& cache) const;
  // The one to fill or to read for an iterator that is started by `context`.
  CacheFillPtr For(const Dataset& cache, const RunContext& context) const;
  // The same fill, or an equal one that is known already; from now on it is.
  CacheFillPtr Bind(const Dataset& cache, CacheFillPtr fill);
  void Complete(const Dataset& cache, const CacheFillPtr& fill, CacheFill::Rows rows);

 private:
  bool Planned(const Dataset& cache) const;
  // Of this run, or held by the cache; `like`: an equal one, or null.
  CacheFillPtr Own(const Dataset& cache, const CacheFill* like) const;
  CacheFillPtr Find(const Dataset& cache, const CacheFill* like) const;

  std::vector<const Dataset*> caches_;  // of the plan
  mutable std::mutex mutex_;            // over the list; taken before those of stores and fills
  std::vector<std::pair<const Dataset*, CacheFillPtr>> fills_;
};

}  // namespace penstock
