// Elastic states: positions restored with another number of shards or other batch sizes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/dataset.h"
#include "engine/state.h"

namespace penstock {

// A position in the run that saved the state: `steps` steps after `state` (null: the beginning).
struct SavedPosition {
  StateBlob state;
  int64_t steps = 0;

  // In the format of StateTrail. Write is only for positions without steps left to skip.
  static SavedPosition Read(StateVisitor& visitor);
  void Write(StateVisitor& visitor) const;
};

// Inputs and results of converting a position to the new sizes.
struct Carrying {
  // The former number of shards, or of rows per batch, of each stage.
  std::map<const Dataset*, int64_t> former;
  int64_t more = 0;       // elements that some former shards delivered beyond `position`
  int64_t position = -1;  // elements of this pass that all former shards delivered together
  int64_t epoch = -1;     // of the pass, if a repeat after shard_evenly counts epochs

  int64_t Former(const Dataset& stage) const;
};

// A stage that may appear between shard_evenly and the end of a pipeline with elastic states. Each
// of its elements consists of a fixed number of elements of the shard, whatever their values.
class Elastic {
 public:
  virtual ~Elastic() = default;
  // Whether it divides the elements among shards, so that stages upstream are independent of the
  // shards.
  virtual bool divides() const { return false; }
  // The number of shards, or of rows per batch; 0 if states do not depend on a size.
  virtual int64_t elastic_size() const { return 0; }
  // The index of this shard.
  virtual int64_t elastic_index() const { return 0; }
  // Why its states are not elastic for this input; empty if they are.
  virtual std::string unfit() const { return {}; }
  // Writes the stage's state for the position `steps` steps after `saved` (null: its beginning),
  // which was saved by a run with the former sizes. Steps past the end of its elements remain in
  // `steps`.
  virtual void CarryState(StateVisitor* saved, int64_t& steps, std::string& out,
                          Carrying& carrying) const = 0;
};

// Converts `position` from the former pipeline into a state of `dataset` in this one. Steps past
// the end remain.
void Carry(const Dataset& dataset, SavedPosition& position, Carrying& carrying);

// The stages between shard_evenly and the end of a pipeline.
class ElasticPlan {
 public:
  explicit ElasticPlan(const Dataset& root);

  // Whether the pipeline contains a dividing stage.
  bool divided() const { return !shards_.empty(); }
  // The stage that prevents elastic states, and the reason; empty if they are supported.
  const std::string& problem() const { return problem_; }
  // The dividing stage; null if there is a problem.
  const Dataset* divider() const { return divider_; }
  // The stages with a size, and the line of the plan's text that contains it.
  const std::map<const Dataset*, size_t>& sized() const { return sized_; }
  // The sizes in the text `saved` of another plan; nullopt if the plans differ in anything else.
  std::optional<std::map<const Dataset*, int64_t>> Former(const std::string& saved) const;
  const std::string& text() const { return text_; }
  // Why a state with this plan's text cannot be restored; empty if it can. `begun`: elements had
  // been delivered before it was saved. Until then no stage holds anything that depends on the
  // number of shards.
  std::string Refusal(const std::string& saved, bool begun) const;

 private:
  std::vector<const Dataset*> shards_;
  std::string problem_;
  const Dataset* divider_ = nullptr;
  std::map<const Dataset*, size_t> sized_;
  std::string text_;
};

// The position of an iterator over shards, readable from a state without the pipeline.
struct SharedPosition {
  int64_t delivered = 0;  // steps of the iterator since the beginning
  int64_t shards = 0;     // 0: not sharded, or states depend on the number
  int64_t index = 0;
  int64_t position = -1;  // as in Carrying; -1: the shards have no common position
  int64_t epoch = -1;
  int64_t more = 0;

  bool begun() const { return delivered > 0 || more > 0; }
  std::string Text() const;
  static SharedPosition Of(std::string_view text);

 private:
  void VisitState(StateVisitor& visitor);
};

}  // namespace penstock
