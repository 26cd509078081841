// map without parallel calls: the function runs in the pulling thread.
#include "compute/retries.h"
#include "engine/input.h"
#include "engine/random_access.h"
#include "engine/registry.h"
#include "engine/session.h"
#include "stages/map/calls_in_line.h"
#include "stages/map/carried_map.h"

namespace penstock {
namespace {

class MapDataset final : public Dataset, public RandomAccess, public Elastic {
 public:
  MapDataset(PlannedFunction function, MaybeSpec declared)
      : function_(std::move(function)), declared_(std::move(declared)) {}
  int64_t cardinality() const override { return input().cardinality(); }
  MaybeSpec spec() const override { return declared_ ? declared_ : probed_spec(); }
  Step At(int64_t index, const RunContext& context) const override {
    return MapAt(*this, function_, index, context);
  }
  Block Gather(const Positions& positions, const RunContext& context) const override {
    return MapAt(*this, function_, positions, context);
  }
  Positions InputPositions(const Positions& positions, size_t, const RunContext&) const override {
    return positions;
  }
  void CarryState(StateVisitor* saved, int64_t& steps, std::string& out,
                  Carrying& carrying) const override {
    CarryMapState(*this, saved, steps, out, carrying);
  }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  PlannedFunction function_;
  MaybeSpec declared_;
};

class MapIterator final : public BlockIterator {
 public:
  MapIterator(Session& session, const StageLabel& stage, IteratorPtr input, FunctionPtr function,
              StageRandom random, bool ragged)
      : session_(session),
        stage_(stage),
        input_(std::move(input)),
        function_(std::move(function)),
        random_(random),
        ragged_(ragged) {}

  void VisitState(StateVisitor& visitor) override {
    visitor.Count(index_, "elements given");
    // Waiting results are computed again: the input goes back to their rows.
    input_.VisitState(visitor, calls_.waiting());
    std::vector<int64_t> ahead;  // empty; for the same format as the parallel form
    visitor.Ints(ahead);
    if (!ahead.empty()) {
      throw Error(
          ErrorKind::kInvalidArgument,
          "set_state: the state was saved with deterministic=False in map; restore it into a "
          "pipeline with num_parallel_calls there");
    }
  }

  std::optional<Error> Discard(int64_t& steps) override {
    int64_t before = steps;
    auto error = input_.Discard(steps);  // without calls: one input step is one output step
    index_ = StepsMore(index_, before - steps);
    return error;
  }

  std::optional<Error> Pass(int64_t& steps) override { return PassBy(steps, &Input::Pass); }
  std::optional<Error> PassSound(int64_t& steps) override {
    return PassBy(steps, &Input::PassSound);
  }

 protected:
  std::optional<Error> PassBy(int64_t& steps, std::optional<Error> (Input::*pass)(int64_t&)) {
    // Waiting results come first.
    if (!calls_.idle()) {
      int64_t first = std::min(steps, calls_.waiting());
      steps -= first;
      auto error = BlockIterator::Pass(first);
      steps += first;
      if (error || steps == 0) return error;
    }
    int64_t before = steps;
    auto error = (input_.*pass)(steps);
    index_ += before - steps;
    return error;
  }

  Block DoNextBlock(int64_t max_rows) override {
    CallInfo info{&stage_, random_, index_};
    info.ragged = ragged_;
    info.retries = &stats().retries;
    info.session = &session_;
    info.slow = &session_.slow();
    Block block = calls_.Next(max_rows, *function_, info, [&] {
      input_.Keep(input_.position());
      return input_.NextBlock(max_rows);
    });
    index_ += block.steps();
    return block;
  }

 private:
  Session& session_;
  const StageLabel& stage_;
  Input input_;
  FunctionPtr function_;
  StageRandom random_;
  const bool ragged_;  // its consumer accepts ragged blocks
  int64_t index_ = 0;
  CallsInLine calls_;
};

IteratorPtr MapDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<MapIterator>(*context.session, label(), StartInput(context),
                                       context.Executed(function_, *this, 1), Randomness(context),
                                       context.ragged);
}

std::shared_ptr<Dataset> MakeMap(const std::vector<DatasetPtr>&, const Args& args) {
  MaybeSpec declared;
  if (args.Has("output_signature")) declared = args.Spec("output_signature");
  return std::make_shared<MapDataset>(WithRetries(args.Callable("map_func"), args),
                                      std::move(declared));
}

const RegisterDataset map_stage("map",
                                {.timing_arguments = {"max_retries"},
                                 .arguments = {{"output_signature", ArgumentForm::kSpec}}},
                                MakeMap);
// The input yields positions; the function returns their rows.
const RegisterDataset from_indexable_stage(
    "from_indexable", {.fetches = true, .arguments = {{"output_signature", ArgumentForm::kSpec}}},
    MakeMap);

}  // namespace
}  // namespace penstock
