// shard_evenly: every num_shards-th element starting at `index`, with the same number of elements
// for every index.
#include <algorithm>
#include <limits>

#include "engine/input.h"
#include "engine/random_access.h"
#include "engine/registry.h"
#include "stages/shard/even_sharding.h"
#include "stages/shard/masked_repeats.h"

namespace penstock {
namespace {

constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();

class ShardEvenlyDataset final : public Dataset,
                                 public EvenShardingStage,
                                 public RandomAccess,
                                 public Indexed {
 public:
  ShardEvenlyDataset(const EvenSharding& sharding, bool fused)
      : EvenShardingStage(sharding), fused_(fused) {}
  int64_t cardinality() const override { return sharding_.Rounds(input().cardinality()); }
  bool counts_runs() const override { return true; }
  MaybeSpec spec() const override {
    MaybeSpec spec = input_spec();
    return spec && pads() ? MaskedSpec(*std::move(spec)) : spec;
  }
  Step At(int64_t index, const RunContext& context) const override;

  const Indexed* indexed() const override {
    return fused_ && !pads() && input().indexed() ? this : nullptr;
  }
  int64_t size() const override { return cardinality(); }
  Block Rows(int64_t first, int64_t count) const override {
    std::vector<int64_t> own(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) own[static_cast<size_t>(i)] = first + i;
    return Gather(own.data(), count);
  }
  Block Gather(const int64_t* indices, int64_t count) const override {
    const Indexed& rows = *input().indexed();
    std::vector<int64_t> chosen(indices, indices + count);
    for (int64_t& row : chosen) row = sharding_.Repeated(row * sharding_.shards, rows.size());
    return rows.Gather(chosen.data(), count);
  }
  Positions InputPositions(const Positions& positions, size_t, const RunContext&) const override {
    const int64_t n = input().cardinality();
    if (pads() || n <= 0) return {};
    return Moved(positions, [&](int64_t at) {
      return sharding_.Repeated(std::min(sharding_.Taken(at, n), n - 1), n);
    });
  }
  bool divides() const override { return true; }
  void CarryState(StateVisitor* saved, int64_t& steps, std::string& out,
                  Carrying& carrying) const override;
  bool pads() const { return sharding_.remainder == Remainder::kPad; }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  bool fused_;  // whether rows may be gathered by position
};

Step ShardEvenlyDataset::At(int64_t index, const RunContext& context) const {
  RunContext common = sharding_.Common(context, *this);
  const int64_t n = input().cardinality() == kInfinite ? kUnbounded : input().cardinality();
  const int64_t round = sharding_.Taken(index, n);
  if (round == n) {  // infinite, but positions are limited
    throw Error(ErrorKind::kInvalidArgument, "at: element {} of shard_evenly has no number < 2^63",
                index);
  }
  if (!pads()) return InputAt(*this, sharding_.Repeated(round, n), common);
  if (sharding_.index < n - round) return Real(InputAt(*this, round + sharding_.index, common));
  for (int64_t at = round; at < n; ++at) {
    Step step = InputAt(*this, at, common);
    auto* element = std::get_if<Element>(&step);
    if (element) return Masked(sharding_.PaddingLike(*element), false);
  }
  return AllFailed(n - round);
}

// Stages upstream do not depend on the number of shards; only the start of the next round does.
void ShardEvenlyDataset::CarryState(StateVisitor* saved, int64_t& steps, std::string& out,
                                    Carrying& carrying) const {
  const EvenSharding former = sharding_.Former(carrying, *this);
  int64_t round = 0, at = 0;
  SavedPosition before;
  if (saved) {
    former.VisitState(*saved);
    saved->Count(round, "elements distributed");
    if (!indexed()) {
      saved->Count(at, "elements pulled", round);
      before = SavedPosition::Read(*saved);
    }
  }
  const int64_t n = input().cardinality();
  round = former.PassRounds(round, n, steps);
  carrying.position = round;
  round = std::max(n < 0 ? round + carrying.more : std::min(round + carrying.more, n), at);
  StateVisitor to(&out);
  sharding_.VisitState(to);
  to.Count(round, "elements distributed");
  if (indexed()) return;
  to.Count(at, "elements pulled");
  to.Int(before.steps);
  to.Blob(before.state);
}

// The rows of a shard, if all rows have random access.
class ShardRowsIterator final : public BlockIterator {
 public:
  explicit ShardRowsIterator(std::shared_ptr<const ShardEvenlyDataset> data)
      : data_(std::move(data)) {}

  // The state counts the elements of all shards together, so that each shard can restore it.
  void VisitState(StateVisitor& visitor) override {
    data_->sharding().VisitState(visitor);
    visitor.Count(distributed_, "elements distributed", data_->input().cardinality());
  }
  std::optional<Error> Discard(int64_t& steps) override {
    Pass(std::min(left(), std::exchange(steps, 0)));
    return std::nullopt;
  }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    if (left() <= 0) return Block::AtEnd();
    std::vector<int64_t> rows;
    const auto count = static_cast<size_t>(std::min(max_rows, left()));
    const int64_t before = distributed_;
    for (; rows.size() < count; Pass(1)) {
      rows.push_back(data_->sharding().Repeated(distributed_, data_->input().cardinality()));
    }
    Block block = data_->input().indexed()->Gather(rows.data(), static_cast<int64_t>(count));
    distributed_ = before;
    Pass(block.steps());
    block.end = left() <= 0;
    return block;
  }

 private:
  // In rounds.
  int64_t left() const {
    return data_->sharding().Rounds(
        std::max<int64_t>(data_->input().cardinality() - distributed_, 0));
  }
  void Pass(int64_t rounds) {
    distributed_ += data_->sharding().Taken(rounds, data_->input().cardinality() - distributed_);
  }

  std::shared_ptr<const ShardEvenlyDataset> data_;
  int64_t distributed_ = 0;
};

class ShardEvenlyIterator final : public Iterator {
 public:
  ShardEvenlyIterator(std::shared_ptr<const ShardEvenlyDataset> data, RunContext context)
      : data_(std::move(data)),
        sharding_(data_->sharding()),
        context_(std::move(context)),
        known_(data_->input().cardinality()),
        input_(data_->StartInput(context_)) {}

  // The state contains the start of the next round, and the state of the input at or before it.
  // Nothing in it is specific to this shard, so that each shard can restore it.
  void VisitState(StateVisitor& visitor) override {
    int64_t back = std::max<int64_t>(position() - round_, 0);  // interrupted within a round
    int64_t at = position() - back;
    sharding_.VisitState(visitor);
    visitor.Count(round_, "elements distributed");
    visitor.Count(at, "elements pulled", round_);
    input_.VisitState(visitor, back);
    if (!visitor.saving()) base_ = at;
  }

  std::optional<Error> Discard(int64_t& steps) override {
    if (!ended_ && position() <= round_) {  // not within a round
      int64_t rounds = std::min(steps, WholeRounds());
      round_ += rounds * sharding_.shards;
      steps -= rounds;
    }
    return Iterator::Discard(steps);
  }

 protected:
  Step DoNext() override {
    if (ended_) return End{};
    if (position() <= round_) input_.Keep(input_.position());
    Step step = again_ ? FromTheBeginning() : WholeRounds() > 0 ? FromKnownRound() : FromRound();
    if (auto* error = std::get_if<Error>(&step); error && error->transient()) return step;
    ended_ = ended_ || std::holds_alternative<End>(step);
    round_ += sharding_.Taken(1, kUnbounded - round_);
    return data_->pads() && !ended_ ? Real(std::move(step)) : std::move(step);
  }

 private:
  int64_t position() const { return base_ + input_.position(); }

  // The number of following rounds known to have an element for every shard.
  int64_t WholeRounds() const {
    const int64_t end = known_ == kInfinite ? kUnbounded : known_;
    return std::max<int64_t>(end - round_, 0) / sharding_.shards;
  }

  // Skips to `end`; requires that the input is known to have that many elements.
  std::optional<Error> PassTo(int64_t end) {
    int64_t others = end - position();
    return others > 0 ? input_.Discard(others) : std::nullopt;
  }

  // The round is known to be complete, so the other shards' elements can be skipped.
  Step FromKnownRound() {
    if (auto error = PassTo(round_ + sharding_.index)) return *std::move(error);
    Step step = input_.Next();
    // An infinite repeat may be empty.
    if (!std::holds_alternative<End>(step) || known_ == kInfinite) return step;
    ended_ = true;
    return Error(ErrorKind::kRuntime,
                 "shard_evenly: {} elements were announced, the input ended before number {}",
                 known_, round_ + sharding_.index);
  }

  // The round may be incomplete. To know whether to drop it, it must be iterated to its end; for
  // other shards' elements, only their existence is computed.
  Step FromRound() {
    const bool drops = sharding_.remainder == Remainder::kDrop;
    if (known_ < 0) {
      input_.Mark();
    } else if (auto error = PassTo(std::min(round_, known_))) {
      return *std::move(error);
    }
    for (;;) {
      if (context_.cancel.cancelled()) return Error(ErrorKind::kCancelled, "");
      // Index of the next element in the round; negative before the round starts.
      const int64_t number = position() - round_;
      int64_t others = 0;  // elements that only need to exist
      if (mine_)
        others = drops ? sharding_.shards - number : 0;
      else if (number < 0)
        others = -number;
      else if (beside_ || !data_->pads())
        others = sharding_.index - number;
      if (others > 0) {
        if (auto error = input_.Pass(others)) return *std::move(error);
        if (others > 0) break;
        continue;
      }
      if (mine_) {
        beside_.reset();
        return *std::exchange(mine_, std::nullopt);
      }
      Step step = input_.Next();
      auto* error = std::get_if<Error>(&step);
      if (error && error->transient()) return step;
      if (std::holds_alternative<End>(step)) break;
      auto* element = std::get_if<Element>(&step);
      if (element && !beside_ && data_->pads()) beside_ = *element;
      if (number == sharding_.index) mine_ = std::move(step);
    }
    mine_.reset();
    const int64_t there = position() - round_;
    if (drops || there <= 0) return End{};
    if (data_->pads()) {
      ended_ = true;
      if (!beside_) return AllFailed(there);
      return Masked(sharding_.PaddingLike(*beside_), false);
    }
    before_it_ = sharding_.Repeated(round_, position());
    return FromTheBeginning();
  }

  Step FromTheBeginning() {
    if (!again_) {
      input_.Retire();  // first: its generators and threads must not overlap with the new
      again_ = data_->StartInput(context_);
    }
    if (auto error = again_->Discard(before_it_)) return *std::move(error);
    Step step = again_->Next();
    if (auto* error = std::get_if<Error>(&step); error && error->transient()) return step;
    ended_ = true;
    again_.reset();
    if (!std::holds_alternative<End>(step)) return step;
    return Error(ErrorKind::kRuntime,
                 "shard_evenly: the input gave {} elements and, when it was begun again for those "
                 "to repeat, fewer; use a source that can be gone through again, or "
                 "remainder='drop' or 'pad'",
                 position());
  }

  std::shared_ptr<const ShardEvenlyDataset> data_;
  const EvenSharding sharding_;
  RunContext context_;
  const int64_t known_;  // the number of elements, kInfinite or kUnknown
  Input input_;
  int64_t base_ = 0;               // steps before the input's own count started
  int64_t round_ = 0;              // input index at which the next round starts
  std::optional<Step> mine_;       // this shard's step of the current round
  std::optional<Element> beside_;  // the first element of that round
  IteratorPtr again_;              // the input started again, for a repeated element
  int64_t before_it_ = 0;          // elements to skip there
  bool ended_ = false;
};

IteratorPtr ShardEvenlyDataset::MakeIterator(const RunContext& context) const {
  auto self = std::static_pointer_cast<const ShardEvenlyDataset>(shared_from_this());
  if (indexed()) return std::make_unique<ShardRowsIterator>(std::move(self));
  return std::make_unique<ShardEvenlyIterator>(std::move(self), sharding_.Common(context, *this));
}

// fused=False iterates over the input even if rows could be gathered, for comparison. `dealt`: the
// number of elements from which the input took its shard.
const RegisterDataset shard_evenly_stage(
    "shard_evenly", {.of_positions = true, .share_states = {"index", "fused"}},
    [](const std::vector<DatasetPtr>& inputs, const Args& args) -> std::shared_ptr<Dataset> {
      EvenSharding sharding(args);
      if (sharding.remainder == Remainder::kPad) {
        if (MaybeSpec spec = inputs[0]->spec()) CheckPadding(*spec);
      }
      if (args.Has("dealt")) return MakeMaskedRepeats(sharding, args.Int("dealt"));
      bool fused = !args.Has("fused") || args.Bool("fused");
      return std::make_shared<ShardEvenlyDataset>(sharding, fused);
    });

}  // namespace
}  // namespace penstock
