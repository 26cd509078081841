// The contents of caches, in memory and in files. Like the seed, they determine a run's elements.
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

// One pass over the input of a cache, described by everything that its elements depend on. The
// elements may be kept, or be produced again from this description.
class CacheFill {
 public:
  using Rows = std::shared_ptr<const KeptRows>;

  CacheFill(const Dataset& cache, const RunContext& context);
  // Restores a fill that VisitState saved.
  CacheFill(const Dataset& cache, StateVisitor& visitor);
  // Restores the description stored next to the elements in files: text(), or a subset of it in
  // older files.
  static std::shared_ptr<CacheFill> FromFile(const Dataset& cache, const std::string& text);

  void VisitState(StateVisitor& visitor);
  // The context for a pass that produces the same elements.
  RunContext Of(const RunContext& context) const;
  bool operator==(const CacheFill& other) const { return text_ == other.text_; }

  const std::string& text() const { return text_; }
  Rows rows() const;  // null if missing, or stored in files
  void Keep(Rows rows);

 private:
  explicit CacheFill(const Dataset& cache) : cache_(cache) {}
  void Visit(StateVisitor& visitor);

  const Dataset& cache_;
  RandomPlace place_;
  RunIdentity identity_;
  std::shared_ptr<const CacheFills> below_;  // of caches upstream
  std::string text_;                         // all of the above, in the format of states
  mutable std::mutex mutex_;                 // a leaf lock; protects rows_, which is set once
  Rows rows_;
};
using CacheFillPtr = std::shared_ptr<CacheFill>;

// Maps each cache to its fill at the time a stage starts its input. Immutable.
class CacheFills {
 public:
  CacheFillPtr Of(const Dataset& cache) const;
  void Add(const Dataset& cache, CacheFillPtr fill) {
    fills_.emplace_back(&cache, std::move(fill));
  }

  bool restored() const { return restored_; }
  // The fills that a state of the plan of `root` contains: those that are not upstream of another
  // one.
  std::shared_ptr<const CacheFills> Outermost(const Dataset& root) const;
  void Set(const Dataset& cache, CacheFillPtr fill);  // replaces the previous fill

  // Saves or restores the fills of the caches in the plan of `root`. The fills of caches upstream
  // of a filled cache are saved inside its fill. `fills` may be null (none). `run`: the run to
  // restore them for; used only when restoring.
  static void VisitState(StateVisitor& visitor, const Dataset& root, RunFills* run,
                         std::shared_ptr<const CacheFills>& fills);
  // Returns `known`, extended by the current fills of the other caches in the plan of `root`. For
  // caches in files, RunFills::Now decides.
  static std::shared_ptr<const CacheFills> Now(const Dataset& root, const RunFills& run,
                                               std::shared_ptr<const CacheFills> known);

 private:
  std::vector<std::pair<const Dataset*, CacheFillPtr>> fills_;
  // The run continues from a state, so it ignores what other runs have since written to files.
  bool restored_ = false;
};

// The fill of a cache that all runs share.
class CacheStore {
 public:
  virtual ~CacheStore() = default;
  // A complete fill, or (in memory) a restored one; null if none.
  virtual CacheFillPtr fill() const = 0;
  virtual void Offer(const CacheFillPtr& fill) = 0;  // a complete fill, in memory
  virtual bool in_files() const = 0;                 // files can be replaced or removed by others
  // Sets the fill that the cache held according to a restored state. If it is missing, later runs
  // produce it again.
  virtual void Restore(const CacheFillPtr& fill) = 0;
  // A restored fill that has not been found in the files so far; null if none.
  virtual CacheFillPtr owed() const { return nullptr; }
  virtual void Settle(const CacheFill&) {}  // this fill is now in the files
  // The fill for a new run.
  CacheFillPtr ForRuns() const {
    CacheFillPtr owing = owed();
    return owing ? owing : fill();
  }
};

// In memory: keeps the first complete fill, or the last restored one.
class MemoryStore final : public CacheStore {
 public:
  CacheFillPtr fill() const override;
  void Offer(const CacheFillPtr& fill) override;
  bool in_files() const override { return false; }
  void Restore(const CacheFillPtr& fill) override;

 private:
  mutable std::mutex mutex_;  // a leaf lock; protects fill_
  CacheFillPtr fill_;
};

// In files: checks the disk on each call.
class FileStore final : public CacheStore {
 public:
  // `look` returns the fill in the files, or null if there is none or it cannot be read; may throw.
  explicit FileStore(std::function<CacheFillPtr()> look) : look_(std::move(look)) {}
  CacheFillPtr fill() const override;
  void Offer(const CacheFillPtr&) override {}
  bool in_files() const override { return true; }
  void Restore(const CacheFillPtr& fill) override;
  CacheFillPtr owed() const override;
  void Settle(const CacheFill& fill) override;

 private:
  std::function<CacheFillPtr()> look_;
  mutable std::mutex mutex_;  // a leaf lock; protects owed_
  CacheFillPtr owed_;
};

// The fills of one run: those that it completed itself and those named by a restored state, which
// may differ from the current fill of the cache. A fill in files takes precedence over one the run
// knows, so that several processes share it. A run that continues from a state uses the fills it
// knows until it reaches the end of the fill in the files. A fill that is complete according to the
// state but not yet in the files is owed. Caches inside datasets that functions return are
// temporary, so the run only knows their current contents.
class RunFills {
 public:
  explicit RunFills(const Dataset& root);

  // The fills of all caches at the start of the run.
  std::shared_ptr<const CacheFills> AtStart() const;
  // Saves or restores the fills of the plan of `root`: those at the start of the run (`at_start`),
  // those that the run completed or restored, and the current fills of the remaining caches.
  void VisitState(StateVisitor& visitor, const Dataset& root,
                  std::shared_ptr<const CacheFills>& at_start);
  // Call once the restored state is known to be valid. Later runs then find the cache contents from
  // the time it was saved.
  void Restore();
  // Returns the fill for a stage that starts its input now; null if there is none yet. `known`: the
  // fill that the stage knows so far. `restored`: the run continues from a state.
  CacheFillPtr Now(const Dataset& cache, CacheFillPtr known, bool restored) const;
  // The fill that an iterator started with `context` produces or reads.
  CacheFillPtr For(const Dataset& cache, const RunContext& context) const;
  // Returns an equal fill that is already known, or `fill` itself.
  CacheFillPtr Same(const Dataset& cache, CacheFillPtr fill) const;
  // Like Same, for a fill that was complete; remembers it.
  CacheFillPtr Bind(const Dataset& cache, CacheFillPtr fill);
  void Complete(const Dataset& cache, const CacheFillPtr& fill, CacheFill::Rows rows);
  // A pass reached the end of a fill that is in the files.
  void Kept(const Dataset& cache, const CacheFillPtr& fill);
  // A pass of a run that continues from a state reached the end of a fill that would be in the
  // files without the interruption, but is not.
  void Owe(const Dataset& cache, const CacheFillPtr& fill);
  // Whether this fill may be written to files. If a run makes several fills of one cache, only the
  // first may.
  bool MayWrite(const Dataset& cache, const CacheFill& fill) const;

 private:
  struct Known {
    const Dataset* cache;
    CacheFillPtr fill;
    bool owed;
  };
  // The fills that the run completed or restored; later epochs read them.
  std::shared_ptr<const CacheFills> Made() const;
  bool Planned(const Dataset& cache) const;
  bool Owed(const Dataset& cache, const CacheFill& fill) const;
  // Return a fill that the run knows. Find also checks the contents of a cache in memory. With
  // `like`, only an equal fill is returned.
  CacheFillPtr Own(const Dataset& cache, const CacheFill* like) const;
  CacheFillPtr Find(const Dataset& cache, const CacheFill* like) const;

  std::vector<const Dataset*> caches_;  // of the plan
  mutable std::mutex mutex_;  // protects fills_; acquired before the locks of stores and fills
  std::vector<Known> fills_;
  // The fills named by the state being restored, for Restore. Only SetState writes it.
  std::vector<std::pair<const Dataset*, CacheFillPtr>> restored_;
};

}  // namespace penstock
