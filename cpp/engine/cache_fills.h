// What caches were filled with, in memory and in files. A run's elements depend on it, as they do
// on the seed.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "data/kept_rows.h"
#include "engine/dataset.h"
#include "engine/iterator.h"

namespace penstock {

class RunFills;

// A pass over the input of a cache, by all that decides its elements. They may be there, or be made
// again.
class CacheFill {
 public:
  using Rows = std::shared_ptr<const KeptRows>;

  CacheFill(const Dataset& cache, const RunContext& context);
  // From what VisitState has saved.
  CacheFill(const Dataset& cache, StateVisitor& visitor);
  // From what is kept with the elements in files: text(), or less in older ones.
  static std::shared_ptr<CacheFill> FromFile(const Dataset& cache, const std::string& text);

  void VisitState(StateVisitor& visitor);
  // The context of that pass, for one that makes the same elements.
  RunContext Of(const RunContext& context) const;
  bool operator==(const CacheFill& other) const { return text_ == other.text_; }

  const std::string& text() const { return text_; }
  Rows rows() const;  // null while they are not there, or when they are in files
  void Keep(Rows rows);

 private:
  explicit CacheFill(const Dataset& cache) : cache_(cache) {}
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

// Which fill each cache has, as a stage finds it when it starts its input. Never changes.
class CacheFills {
 public:
  CacheFillPtr Of(const Dataset& cache) const;
  void Add(const Dataset& cache, CacheFillPtr fill) {
    fills_.emplace_back(&cache, std::move(fill));
  }

  bool restored() const { return restored_; }
  void Set(const Dataset& cache, CacheFillPtr fill);  // replaces what was there

  // Saves or restores, for the caches in the plan of `root`; those upstream of another that has a
  // fill are in that. `fills` may be null: none. `run`, when it restores: that they are for.
  static void VisitState(StateVisitor& visitor, const Dataset& root, RunFills* run,
                         std::shared_ptr<const CacheFills>& fills);
  // `known`, and for the other caches in the plan of `root` what they hold now; for those in files
  // as RunFills::Now has it.
  static std::shared_ptr<const CacheFills> Now(const Dataset& root, const RunFills& run,
                                               std::shared_ptr<const CacheFills> known);

 private:
  std::vector<std::pair<const Dataset*, CacheFillPtr>> fills_;
  // Of a run that goes on from a state: what other runs have put into files since is not for it.
  bool restored_ = false;
};

// What a cache holds for all runs.
class CacheStore {
 public:
  virtual ~CacheStore() = default;
  virtual CacheFillPtr fill() const = 0;             // complete; null: none
  virtual void Offer(const CacheFillPtr& fill) = 0;  // complete, in memory
  virtual bool in_files() const = 0;                 // which others may replace or remove
};

// In memory: the first complete fill.
class MemoryStore final : public CacheStore {
 public:
  CacheFillPtr fill() const override;
  void Offer(const CacheFillPtr& fill) override;
  bool in_files() const override { return false; }

 private:
  mutable std::mutex mutex_;  // a leaf lock over the pointer, which is set once
  CacheFillPtr fill_;
};

// In files: asks the disk each time.
class FileStore final : public CacheStore {
 public:
  // `look`: what the files hold, null for nothing that can be read; may throw.
  explicit FileStore(std::function<CacheFillPtr()> look) : look_(std::move(look)) {}
  CacheFillPtr fill() const override;
  void Offer(const CacheFillPtr&) override {}
  bool in_files() const override { return true; }

 private:
  std::function<CacheFillPtr()> look_;
};

// The fills of one run: those that it has made, and those that a restored state names. A state may
// ask for another one than that which the cache holds. What files hold goes before what the run
// knows, so that several processes share them. Not so when the run goes on from a state, until it
// has been to the end of what is in the files; a fill is owed by then that by the state is
// complete. Of caches that functions return, which come and go, nothing is known but what they
// hold.
class RunFills {
 public:
  explicit RunFills(const Dataset& root);

  // What all caches hold when the run begins.
  std::shared_ptr<const CacheFills> AtStart() const;
  // Those that it has made itself, or taken from a state: what later epochs read.
  std::shared_ptr<const CacheFills> Made() const;
  // What a stage that starts its input now finds in a cache; null: nothing yet. `known`: to the
  // stage so far. `restored`: the run goes on from a state.
  CacheFillPtr Now(const Dataset& cache, CacheFillPtr known, bool restored) const;
  // The one to fill or to read for an iterator that is started by `context`.
  CacheFillPtr For(const Dataset& cache, const RunContext& context) const;
  // The same fill, or an equal one that is known already.
  CacheFillPtr Same(const Dataset& cache, CacheFillPtr fill) const;
  // Likewise, of one that was complete; from now on it is known.
  CacheFillPtr Bind(const Dataset& cache, CacheFillPtr fill);
  void Complete(const Dataset& cache, const CacheFillPtr& fill, CacheFill::Rows rows);
  // A pass has come to the end of a fill, which is in the files.
  void Kept(const Dataset& cache, const CacheFillPtr& fill);
  // A pass of a run that goes on from a state has come to the end of a fill which is not in the
  // files, as it would be without the interruption.
  void Owe(const Dataset& cache, const CacheFillPtr& fill);
  // Whether files are to hold this fill: of several that a run makes at a time they keep the first.
  bool MayWrite(const Dataset& cache, const CacheFill& fill) const;

 private:
  struct Known {
    const Dataset* cache;
    CacheFillPtr fill;
    bool owed;
  };
  bool Planned(const Dataset& cache) const;
  bool Owed(const Dataset& cache, const CacheFill& fill) const;
  // Of this run, or held by the cache; `like`: an equal one, or null.
  CacheFillPtr Own(const Dataset& cache, const CacheFill* like) const;
  CacheFillPtr Find(const Dataset& cache, const CacheFill* like) const;

  std::vector<const Dataset*> caches_;  // of the plan
  mutable std::mutex mutex_;            // over the list; taken before those of stores and fills
  std::vector<Known> fills_;
};

}  // namespace penstock
