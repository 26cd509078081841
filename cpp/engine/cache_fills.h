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

// A pass over the input of a cache, described by everything that its elements depend on. The
// elements may be held, or be made again.
class CacheFill {
 public:
  using Rows = std::shared_ptr<const KeptRows>;

  CacheFill(const Dataset& cache, const RunContext& context);
  // Restores what VisitState has saved.
  CacheFill(const Dataset& cache, StateVisitor& visitor);
  // Restores what is kept with the elements in files: text(), or less in older files.
  static std::shared_ptr<CacheFill> FromFile(const Dataset& cache, const std::string& text);

  void VisitState(StateVisitor& visitor);
  // The context for a pass that makes the same elements.
  RunContext Of(const RunContext& context) const;
  bool operator==(const CacheFill& other) const { return text_ == other.text_; }

  const std::string& text() const { return text_; }
  Rows rows() const;  // null while they are missing, or when they are in files
  void Keep(Rows rows);

 private:
  explicit CacheFill(const Dataset& cache) : cache_(cache) {}
  void Visit(StateVisitor& visitor);

  const Dataset& cache_;
  RandomPlace place_;
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
  // What a state of the plan of `root` holds of these fills: none upstream of another one.
  std::shared_ptr<const CacheFills> Outermost(const Dataset& root) const;
  void Set(const Dataset& cache, CacheFillPtr fill);  // replaces what was there

  // Saves or restores the fills of the caches in the plan of `root`. The fills of caches upstream
  // of a cache that has a fill are saved inside it. `fills` may be null, for none. `run`: when
  // restoring, the run that they are for.
  static void VisitState(StateVisitor& visitor, const Dataset& root, RunFills* run,
                         std::shared_ptr<const CacheFills>& fills);
  // `known`, and for the other caches in the plan of `root` what they hold now (for caches in
  // files, what RunFills::Now says).
  static std::shared_ptr<const CacheFills> Now(const Dataset& root, const RunFills& run,
                                               std::shared_ptr<const CacheFills> known);

 private:
  std::vector<std::pair<const Dataset*, CacheFillPtr>> fills_;
  // The run goes on from a state, so it does not use what other runs have put into files since.
  bool restored_ = false;
};

// What a cache holds for all runs.
class CacheStore {
 public:
  virtual ~CacheStore() = default;
  // A complete fill, or (in memory) a restored one; null: none.
  virtual CacheFillPtr fill() const = 0;
  virtual void Offer(const CacheFillPtr& fill) = 0;  // complete, in memory
  virtual bool in_files() const = 0;                 // which others may replace or remove
  // The fill that a restored state says the cache held. Later runs make it again if it is missing.
  virtual void Restore(const CacheFillPtr& fill) = 0;
  // A restored fill that was not found in the files so far; null: none.
  virtual CacheFillPtr owed() const { return nullptr; }
  virtual void Settle(const CacheFill&) {}  // this fill is in the files
  // The fill that a run finds when it begins.
  CacheFillPtr ForRuns() const {
    CacheFillPtr owing = owed();
    return owing ? owing : fill();
  }
};

// In memory: the first complete fill, or the last one that was restored.
class MemoryStore final : public CacheStore {
 public:
  CacheFillPtr fill() const override;
  void Offer(const CacheFillPtr& fill) override;
  bool in_files() const override { return false; }
  void Restore(const CacheFillPtr& fill) override;

 private:
  mutable std::mutex mutex_;  // a leaf lock over the pointer
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
  void Restore(const CacheFillPtr& fill) override;
  CacheFillPtr owed() const override;
  void Settle(const CacheFill& fill) override;

 private:
  std::function<CacheFillPtr()> look_;
  mutable std::mutex mutex_;  // a leaf lock over the pointer
  CacheFillPtr owed_;
};

// The fills of one run: those that it has made, and those that a restored state names. A state may
// ask for another fill than the one that the cache holds. A fill in files is preferred to one that
// the run knows, so that several processes share it. A run that goes on from a state prefers the
// fills that it knows, until it has come to the end of what is in the files; a fill that is
// complete by the state, but not in the files by then, is owed. Caches that functions return come
// and go: of these only what they hold is known.
class RunFills {
 public:
  explicit RunFills(const Dataset& root);

  // What all caches hold when the run begins.
  std::shared_ptr<const CacheFills> AtStart() const;
  // Saves or restores the fills of the plan of `root`: what the caches held when the run began
  // (`at_start`), what the run has made itself or taken from a state, and what else the caches hold
  // now.
  void VisitState(StateVisitor& visitor, const Dataset& root,
                  std::shared_ptr<const CacheFills>& at_start);
  // The restored state was valid: later runs find in the caches what they held when it was saved.
  void Restore();
  // What a stage that starts its input now finds in a cache; null: nothing yet. `known`: the fill
  // that the stage knows so far. `restored`: the run goes on from a state.
  CacheFillPtr Now(const Dataset& cache, CacheFillPtr known, bool restored) const;
  // The fill that an iterator started with `context` makes or reads.
  CacheFillPtr For(const Dataset& cache, const RunContext& context) const;
  // This fill, or an equal one that is known already.
  CacheFillPtr Same(const Dataset& cache, CacheFillPtr fill) const;
  // The same for a fill that was complete; it is known from now on.
  CacheFillPtr Bind(const Dataset& cache, CacheFillPtr fill);
  void Complete(const Dataset& cache, const CacheFillPtr& fill, CacheFill::Rows rows);
  // A pass has come to the end of a fill, which is in the files.
  void Kept(const Dataset& cache, const CacheFillPtr& fill);
  // A pass of a run that goes on from a state has come to the end of a fill which is not in the
  // files, as it would be without the interruption.
  void Owe(const Dataset& cache, const CacheFillPtr& fill);
  // Whether this fill may be written to files: of several that a run makes at a time, the first is.
  bool MayWrite(const Dataset& cache, const CacheFill& fill) const;

 private:
  struct Known {
    const Dataset* cache;
    CacheFillPtr fill;
    bool owed;
  };
  // The fills that the run has made itself, or taken from a state: later epochs read them.
  std::shared_ptr<const CacheFills> Made() const;
  bool Planned(const Dataset& cache) const;
  bool Owed(const Dataset& cache, const CacheFill& fill) const;
  // A fill that the run knows; Find also looks at what a cache in memory holds. With `like`, only a
  // fill that equals it.
  CacheFillPtr Own(const Dataset& cache, const CacheFill* like) const;
  CacheFillPtr Find(const Dataset& cache, const CacheFill* like) const;

  std::vector<const Dataset*> caches_;  // of the plan
  mutable std::mutex mutex_;            // over the list; taken before those of stores and fills
  std::vector<Known> fills_;
  // What a state that is being restored says of the caches, for Restore. Only SetState writes it.
  std::vector<std::pair<const Dataset*, CacheFillPtr>> restored_;
};

}  // namespace penstock
