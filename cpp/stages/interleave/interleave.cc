// interleave and flat_map: map elements to datasets, and draw from these alternately.
#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <vector>

#include "engine/input.h"
#include "engine/registry.h"
#include "engine/tuning.h"
#include "stages/interleave/opened.h"

namespace penstock {
namespace {

// Limits for remote files whose beginning is requested ahead of their turn.
constexpr size_t kMaxFilesAhead = 64;
constexpr int64_t kMaxBytesAhead = int64_t{32} << 20;
constexpr int64_t kUnknownBytes = int64_t{4} << 20;  // assumed while no file size is known

struct InterleaveOptions {
  std::string stage;
  int64_t cycle = 1;
  int64_t block = 1;
  int64_t calls = 0;     // 0: sequential
  int64_t buffered = 2;  // elements that each open dataset reads ahead, if parallel
  int64_t ahead = 1;     // datasets opened ahead of their turn, if parallel
  std::optional<bool> ordered;
  MaybeSpec declared;
};

class InterleaveDataset final : public Dataset {
 public:
  InterleaveDataset(PlannedFunction function, InterleaveOptions options)
      : function_(std::move(function)), options_(std::move(options)) {}
  // Even for an infinite input, the opened datasets may all be empty; but a parallel interleave
  // counts as infinite, as in tf.data.
  int64_t cardinality() const override {
    return options_.calls != 0 && input().cardinality() == kInfinite ? kInfinite : kUnknown;
  }
  MaybeSpec spec() const override {
    MaybeSpec known = options_.declared ? options_.declared : function_.usual->opened_spec();
    return known ? known : probed_spec();
  }
  bool asynchronous() const override { return options_.calls != 0; }
  bool reorders(bool deterministic) const override {
    return options_.calls != 0 && !options_.ordered.value_or(deterministic);
  }
  const PlannedFunction& function() const { return function_; }
  const InterleaveOptions& options() const { return options_; }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  PlannedFunction function_;
  InterleaveOptions options_;
};

class InterleaveIterator final : public BlockIterator {
 public:
  InterleaveIterator(const InterleaveDataset& data, const RunContext& context)
      : options_(data.options()),
        label_(&data.label()),
        context_(context),
        function_(context.Called(data.function())),
        random_(data.Randomness(context)),
        parallel_(options_.calls != 0 && context.threads),
        ordered_(context.replayed ||
                 options_.ordered.value_or(context.session->options().deterministic)),
        share_(*context.session, parallel_ && options_.calls == kAutotune),
        requests_(context.threads && data.input().quiet() && function_->opens_files()),
        input_(data.StartInput(context.Replayed())),
        slots_(static_cast<size_t>(options_.cycle)),
        ready_(std::make_shared<EventCount>()),
        ready_watch_(context_.cancel, *ready_) {
    context_.batch_rows = 0;
    context_.ragged = false;
    context_.replayed = true;  // for the opened datasets: their threads run ahead of their turn
    left_ = options_.block;
    inner_stats_ = context.session->stats().Add(
        context.path + ".*", {label_->kind + " inputs", label_->name, label_->function});
    if (!parallel_) return;
    int64_t calls = options_.calls;
    if (calls == kAutotune) calls = taken_ = context.session->TakeFirstCalls(options_.cycle);
    if (calls < options_.cycle) permits_ = std::make_shared<Permits>(calls);
  }

  ~InterleaveIterator() override { context_.session->GiveCalls(taken_); }

  void VisitState(StateVisitor& visitor) override {
    int64_t cycle = options_.cycle;
    visitor.IntIn(cycle, 1, std::numeric_limits<int64_t>::max(), "cycle_length");
    if (cycle != options_.cycle) {
      throw Error(
          ErrorKind::kInvalidArgument,
          "set_state: the state was saved with {} inputs in turn, this pipeline has {}; use "
          "the same cycle_length (num_parallel_reads)",
          cycle, options_.cycle);
    }
    visitor.Count(turn_, "the turn", options_.cycle - 1);
    visitor.IntIn(left_, 1, options_.block, "what is left of the turn");
    visitor.Bool(input_ended_);
    // Open datasets are identified by the positions of their elements, and are opened again.
    std::vector<int64_t> positions;
    for (auto& slot : slots_) positions.push_back(slot ? slot->position() : -1);
    for (auto& next : ahead_) positions.push_back(next.position);
    int64_t low = LowestPosition();
    int64_t back = input_.position() - low;
    int64_t pulled = back - (unopened_ ? 1 : 0);
    for (auto& position : positions) position = position < 0 ? -1 : position - low;
    visitor.Count(pulled, "elements pulled again");
    visitor.IntsIn(positions, -1, pulled - 1, "the position of an open dataset");
    input_.VisitState(visitor, back);
    if (visitor.saving()) {
      // A dataset opened ahead has no state, because none of its elements was delivered. If opening
      // it failed, a restored run tries again.
      for (auto& slot : slots_)
        if (slot) slot->VisitState(visitor);
      return;
    }
    Reopen(pulled, positions, visitor);
  }

  std::optional<Error> Pass(int64_t& steps) override {
    // With several open datasets, the order depends on which steps are errors, because errors do
    // not end a turn.
    if (parallel_ || options_.cycle > 1) return BlockIterator::Pass(steps);
    while (steps > 0) {
      if (auto other = FindTurn()) {
        if (!other->error) break;
        if (other->error->transient()) return other->error;
        --steps;
        continue;
      }
      if (auto error = slots_[0]->Pass(steps)) return error;
      if (steps > 0) slots_[0].reset();  // it has ended
    }
    return std::nullopt;
  }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    if (parallel_) {
      if (auto error = OpenAhead()) return Block::Of(*std::move(error));
    }
    for (;;) {
      if (auto other = FindTurn()) return *std::move(other);
      OpenedPtr& slot = slots_[static_cast<size_t>(turn_)];
      bool checked = slot->checked();
      Block block = slot->Take(checked ? std::min(max_rows, left_) : 1);
      left_ -= block.rows;
      bool end = std::exchange(block.end, false);
      if (left_ == 0) {
        NextTurn();  // if the end came with the last row, the next visit handles it
      } else if (end) {
        slot.reset();
        NextTurn();
      }
      if (!checked && block.rows > 0)
        Check(ElementSpec::Of(std::get<Element>(Block(block).ToStep())));
      if (block.rows > 0 || block.error) return block;
    }
  }

 private:
  struct Ahead {
    int64_t position;  // in the input
    OpenedPtr opened;  // or `error`
    std::optional<Error> error;
  };

  // Advances to the next dataset to draw from; returns an error or the end if there is none.
  std::optional<Block> FindTurn() {
    int64_t closed = 0;  // consecutive empty slots
    int64_t unready = 0;
    for (;;) {
      if (context_.cancel.cancelled()) return Block::Of(Error(ErrorKind::kCancelled, ""));
      OpenedPtr& slot = slots_[static_cast<size_t>(turn_)];
      if (!slot) {
        if (!input_ended_ || !ahead_.empty()) {
          if (auto error = OpenInto(slot)) return Block::Of(*std::move(error));
          if (slot) {
            if (auto error = RequestAhead()) return Block::Of(*std::move(error));
            continue;
          }
        }
        if (++closed >= options_.cycle) return Block::AtEnd();
        NextTurn();
        continue;
      }
      closed = 0;
      if (!ordered_ && parallel_ && !slot->Ready()) {
        if (++unready >= options_.cycle) {
          WaitStatus status = WaitUntil(*ready_, context_.cancel, [this] { return AnyReady(); });
          if (status == WaitStatus::kInterrupted)
            return Block::Of(Error(ErrorKind::kInterrupted, ""));
          if (status != WaitStatus::kReady) return Block::Of(Error(ErrorKind::kCancelled, ""));
          unready = 0;
        }
        NextTurn();
        continue;
      }
      return std::nullopt;
    }
  }

  void NextTurn() {
    turn_ = (turn_ + 1) % options_.cycle;
    left_ = options_.block;
  }

  bool AnyReady() {
    return std::any_of(slots_.begin(), slots_.end(),
                       [](OpenedPtr& slot) { return slot && slot->Ready(); });
  }

  // Opens datasets ahead of their turn, more than there are free slots, so that a freed slot is
  // refilled without delay. If one cannot be opened, its error is delivered at its turn.
  std::optional<Error> OpenAhead() {
    auto free = std::count(slots_.begin(), slots_.end(), nullptr);
    while (!input_ended_ && static_cast<int64_t>(ahead_.size()) - free < options_.ahead) {
      if (auto error = OpenOneAhead()) return error;
      // Start it immediately: an error in it ends the run before the other datasets are opened.
      if (!ahead_.empty() && ahead_.back().opened) ahead_.back().opened->RunAhead();
    }
    RunAhead(free);
    return std::nullopt;
  }

  // Starts the threads of the next datasets in turn.
  void RunAhead(int64_t free) {
    int64_t most = options_.ahead + free;
    for (auto& next : ahead_) {
      if (most-- <= 0) break;
      if (next.opened) next.opened->RunAhead();
    }
  }

  std::optional<Error> OpenInto(OpenedPtr& slot) {
    // Inline, datasets are opened ahead only if a parallel run saved the state.
    if (!parallel_ && ahead_.empty()) return OpenNext(slot);
    if (ahead_.empty()) {
      if (auto error = OpenAhead()) return error;
    }
    if (ahead_.empty()) return std::nullopt;
    Ahead next = std::move(ahead_.front());
    ahead_.pop_front();
    slot = std::move(next.opened);
    if (slot) slot->RunAhead();
    return std::move(next.error);
  }

  // Requests the beginnings of the next remote files; otherwise many small files would be read with
  // sequential requests. Opens them ahead of their turn, like OpenAhead.
  std::optional<Error> RequestAhead() {
    if (!remote_) return std::nullopt;
    int64_t bytes = 0, known = 0;
    const Budget& budget = context_.session->budget();
    const auto fits = [&] { return bytes < kMaxBytesAhead && budget.used() < budget.limit() / 2; };
    for (size_t i = 0; fits() && i < kMaxFilesAhead; ++i) {
      if (i == ahead_.size()) {
        if (auto error = OpenOneAhead()) return error;
        if (i == ahead_.size()) break;  // the input has ended
      }
      const int64_t held = ahead_[i].opened ? ahead_[i].opened->RequestFirst() : 0;
      known = std::max(known, held);
      bytes += held < 0 ? file_bytes_ : held;
    }
    if (known > 0) file_bytes_ = known;
    return std::nullopt;
  }

  std::optional<Error> OpenOneAhead() {
    const int64_t position = input_.position() - (unopened_ ? 1 : 0);
    OpenedPtr opened;
    auto error = OpenNext(opened);
    if (error && error->transient()) return error;
    if (opened || error) ahead_.push_back({position, std::move(opened), std::move(error)});
    return std::nullopt;
  }

  // Pulls the next element and opens its dataset; leaves `opened` empty at the end.
  std::optional<Error> OpenNext(OpenedPtr& opened) {
    if (input_ended_) return std::nullopt;
    if (!unopened_) {
      input_.Keep(LowestPosition());
      input_.Mark();
    }
    int64_t position = input_.position() - (unopened_ ? 1 : 0);
    Step step = unopened_ ? *std::exchange(unopened_, std::nullopt) : input_.Next();
    if (auto* error = std::get_if<Error>(&step)) return *error;
    if (std::holds_alternative<End>(step)) {
      input_ended_ = true;
      return std::nullopt;
    }
    auto error = Open(std::get<Element>(step), position, opened);
    if (error && error->transient()) unopened_ = std::move(step);
    return error;
  }

  std::optional<Error> Open(const Element& element, int64_t position, OpenedPtr& opened) {
    CallInfo info{label_, random_, position};
    info.session = context_.session;
    try {
      DatasetPtr data = function_->Open(element, info);
      MaybeSpec spec = options_.declared ? data->spec() : std::nullopt;
      if (spec) Check(*spec);
      const RunContext context = context_.At(context_.place.Opened(element.origin.key)).Opened();
      auto made =
          std::make_unique<Opened>(position, element.origin.key, spec || !options_.declared);
      if (!parallel_) {
        made->StartInline(std::move(data), context);
      } else {
        ProducerOptions options;
        options.stage = label_;
        options.limit = options_.buffered;
        options.ready = ready_;
        options.permits = permits_;
        options.bound = data->calls_inline();
        options.stages = data->depth_in_line();
        made->StartThread(std::move(data), context, inner_stats_, std::move(options));
      }
      if (requests_ && !reopening_) remote_ = made->RequestFirst() != 0;
      opened = std::move(made);
    } catch (const Error& error) {
      return error;
    }
    return std::nullopt;
  }

  // Checks an opened dataset against the declared spec.
  void Check(const ElementSpec& came) const {
    if (ElementSpec::Cover(*options_.declared, came) == options_.declared) return;
    throw Error(ErrorKind::kType,
                "{}: output_signature says {}, got elements {}; declare what the datasets that "
                "map_func returns give",
                options_.stage, options_.declared->ToString(), came.ToString());
  }

  // The lowest position of the elements that a state needs.
  int64_t LowestPosition() const {
    int64_t low = input_.position() - (unopened_ ? 1 : 0);
    for (auto& slot : slots_)
      if (slot) low = std::min(low, slot->position());
    for (auto& next : ahead_) low = std::min(low, next.position);
    return low;
  }

  void PassTo(int64_t position) {
    int64_t others = position - input_.position();
    if (auto error = input_.Discard(others)) throw *std::move(error);
  }

  // After a restore the input is at the lowest position. Opens each dataset again from its element,
  // and restores its position.
  void Reopen(int64_t pulled, const std::vector<int64_t>& positions, StateVisitor& visitor) {
    auto cycle = static_cast<size_t>(options_.cycle);
    visitor.Demand(positions.size() >= cycle, "every turn must have a position");
    reopening_ = true;
    std::map<int64_t, size_t> needed;
    for (size_t i = 0; i < positions.size(); ++i) {
      bool good = i < cycle && positions[i] < 0;  // a slot without a dataset
      visitor.Demand(good || (positions[i] >= 0 && needed.emplace(positions[i], i).second),
                     "every open dataset must be of another element");
    }
    std::vector<Ahead> opened(positions.size());
    for (auto [at, i] : needed) {
      PassTo(at);
      Step step = input_.Next();
      visitor.Demand(!std::holds_alternative<End>(step),
                     "the input must have the elements of all open datasets");
      Ahead& again = opened[i];
      again.position = at;
      auto* error = std::get_if<Error>(&step);
      again.error = error ? *error : Open(std::get<Element>(step), at, again.opened);
      // A slot has a position only while its dataset is open.
      if (again.error && (again.error->transient() || i < cycle)) throw *again.error;
    }
    PassTo(pulled);
    for (size_t i = 0; i < positions.size(); ++i) {
      if (i < cycle) {
        if (opened[i].opened) opened[i].opened->VisitState(visitor);
        slots_[i] = std::move(opened[i].opened);
      } else {
        ahead_.push_back(std::move(opened[i]));
      }
    }
    reopening_ = false;
    const auto next = std::find_if(ahead_.begin(), ahead_.end(),
                                   [](const Ahead& each) { return each.opened != nullptr; });
    if (requests_ && next != ahead_.end()) remote_ = next->opened->RequestFirst() != 0;
    for (auto& slot : slots_)
      if (slot) slot->RunAhead();
    RunAhead(std::count(slots_.begin(), slots_.end(), nullptr));
  }

  const InterleaveOptions options_;
  const StageLabel* const label_;
  RunContext context_;
  const FunctionPtr function_;
  const StageRandom random_;
  const bool parallel_;
  const bool ordered_;
  CallShare share_;
  const bool requests_;  // requests files ahead of their turn
  Input input_;
  std::optional<Step> unopened_;  // the last step pulled, whose opening was interrupted
  int64_t turn_ = 0;
  int64_t left_ = 1;
  bool input_ended_ = false;
  bool reopening_ = false;
  bool remote_ = false;                 // whether the last opened file is remote
  int64_t file_bytes_ = kUnknownBytes;  // assumed for files of unknown size
  int64_t taken_ = 0;                   // calls taken from AUTOTUNE
  std::vector<OpenedPtr> slots_;
  std::deque<Ahead> ahead_;
  StageStats* inner_stats_;
  std::shared_ptr<EventCount> ready_;
  std::shared_ptr<Permits> permits_;
  CancelToken::Watch ready_watch_;
};

IteratorPtr InterleaveDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<InterleaveIterator>(*this, context);
}

std::shared_ptr<Dataset> MakeInterleave(const std::vector<DatasetPtr>&, const Args& args) {
  InterleaveOptions options;
  options.stage = args.owner();
  options.cycle = args.IntAtLeast("cycle_length", 1, 1);
  options.block = args.IntAtLeast("block_length", 1, 1);
  if (args.Has("num_parallel_calls")) options.calls = args.Int("num_parallel_calls");
  if (args.Has("num_parallel_calls") && options.calls != kAutotune) {
    args.IntAtLeast("num_parallel_calls", 1);
    if (options.calls > options.cycle) {
      throw Error(ErrorKind::kInvalidArgument,
                  "interleave: num_parallel_calls must be at most cycle_length = {}, got {}",
                  options.cycle, options.calls);
    }
  }
  int64_t two_blocks = 2 * std::min<int64_t>(options.block, 1 << 30);
  options.buffered = args.IntAtLeast("buffer_output_elements", 1, two_blocks);
  options.ahead =
      args.IntAtLeast("prefetch_input_elements", 0, std::max<int64_t>(1, options.cycle / 2));
  // With a single slot, turns never change, so rows can be taken in blocks.
  if (options.cycle == 1) options.block = std::numeric_limits<int64_t>::max();
  if (args.Has("deterministic")) options.ordered = args.Bool("deterministic");
  if (args.Has("output_signature")) options.declared = args.Spec("output_signature");
  return std::make_shared<InterleaveDataset>(args.Callable("map_func"), std::move(options));
}

const RegisterDataset interleave_stage("interleave",
                                       {.timing_arguments = {"num_parallel_calls"},
                                        .share_states = {"deterministic", "buffer_output_elements",
                                                         "prefetch_input_elements"},
                                        .arguments = {{"output_signature", ArgumentForm::kSpec}}},
                                       MakeInterleave);
const RegisterDataset flat_map_stage("flat_map",
                                     {.arguments = {{"output_signature", ArgumentForm::kSpec}}},
                                     MakeInterleave);

}  // namespace
}  // namespace penstock
