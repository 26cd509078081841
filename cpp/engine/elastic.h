// Positions that another number of shards takes up, with batches of other sizes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/dataset.h"
#include "engine/state.h"

namespace penstock {

// A position in the run that a state was saved in: `steps` steps after `state` (null: the
// beginning).
struct SavedPosition {
  StateBlob state;
  int64_t steps = 0;

  // As StateTrail saves it. Written, there are no steps left to pass over.
  static SavedPosition Read(StateVisitor& visitor);
  void Write(StateVisitor& visitor) const;
};

// What was before, and what is found while a position is carried over.
struct Carrying {
  // The number of shards, or of rows in a batch, that the stages had.
  std::map<const Dataset*, int64_t> former;
  int64_t more = 0;       // elements that some of the former shards had had besides
  int64_t position = -1;  // elements that all former shards together had had of this pass
  int64_t epoch = -1;     // of the pass, where a repeat after shard_evenly counts them

  int64_t Former(const Dataset& stage) const;
};

// A stage that may stand between shard_evenly and the end of a pipeline whose states serve any
// number of shards: so many elements of the shard are in so many of its own, whichever they are.
class Elastic {
 public:
  virtual ~Elastic() = default;
  // Whether it divides the elements among shards, so that nothing before it depends on them.
  virtual bool divides() const { return false; }
  // The number of shards, or of rows in a batch; 0 where states do not depend on one.
  virtual int64_t elastic_size() const { return 0; }
  // Which of the shards it is of.
  virtual int64_t elastic_index() const { return 0; }
  // Why it cannot, for the input that it has; empty when it can.
  virtual std::string unfit() const { return {}; }
  // Writes the stage's state for the position `steps` steps after `saved` (null: its beginning),
  // which a run with the former numbers has saved. Steps after the end of its elements remain.
  virtual void CarryState(StateVisitor* saved, int64_t& steps, std::string& out,
                          Carrying& carrying) const = 0;
};

// The state of `dataset` in this pipeline that continues a position in the former one. Steps after
// the end remain.
void Carry(const Dataset& dataset, SavedPosition& position, Carrying& carrying);

// The stages between shard_evenly and the end of a pipeline.
class ElasticPlan {
 public:
  explicit ElasticPlan(const Dataset& root);

  // Whether elements are divided somewhere on the way.
  bool divided() const { return !shards_.empty(); }
  // The stage that keeps states from being carried over, and why; empty when nothing does.
  const std::string& problem() const { return problem_; }
  // The stage that divides; null with a problem.
  const Dataset* divider() const { return divider_; }
  // The stages with a number, and the lines of the plan's text that have it.
  const std::map<const Dataset*, size_t>& sized() const { return sized_; }
  // The numbers in the text of another plan that differs from this one's in nothing else.
  std::optional<std::map<const Dataset*, int64_t>> Former(const std::string& saved) const;
  const std::string& text() const { return text_; }
  // Why a state with this plan's text cannot be taken up; empty when it can. `begun`: elements were
  // delivered before it was saved. Before that no stage holds anything that belongs to a number of
  // shards.
  std::string Refusal(const std::string& saved, bool begun) const;

 private:
  std::vector<const Dataset*> shards_;
  std::string problem_;
  const Dataset* divider_ = nullptr;
  std::map<const Dataset*, size_t> sized_;
  std::string text_;
};

// The position of an iterator over shards, as a state shows it to those who have no pipeline.
struct SharedPosition {
  int64_t delivered = 0;  // steps of the iterator, since the beginning
  int64_t shards = 0;     // 0: there are none, or states belong to their number
  int64_t index = 0;
  int64_t position = -1;  // as Carrying has it; -1: no position of all shards together
  int64_t epoch = -1;
  int64_t more = 0;

  bool begun() const { return delivered > 0 || more > 0; }
  std::string Text() const;
  static SharedPosition Of(std::string_view text);

 private:
  void VisitState(StateVisitor& visitor);
};

}  // namespace penstock
