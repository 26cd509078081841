// repeat: iterates over the input several times, starting from its beginning in each epoch.
#include <algorithm>
#include <limits>

#include "engine/elastic.h"
#include "engine/fills_ahead.h"
#include "engine/random_access.h"
#include "engine/registry.h"
#include "engine/session.h"

namespace penstock {
namespace {

class RepeatDataset final : public Dataset, public RandomAccess, public Elastic {
 public:
  RepeatDataset(int64_t count, bool fused) : count_(count), fused_(fused) {}
  int64_t cardinality() const override {
    int64_t n = input().cardinality();
    if (count_ == 0 || n == 0) return 0;
    if (count_ < 0 || n == kInfinite) return kInfinite;
    if (n == kUnknown || n > std::numeric_limits<int64_t>::max() / count_) return kUnknown;
    return n * count_;
  }
  MaybeSpec spec() const override { return input_spec(); }
  Step At(int64_t index, const RunContext& context) const override {
    int64_t n = input().cardinality();
    int64_t epoch = n == kInfinite ? 0 : index / n;
    Step step = InputAt(*this, index - epoch * std::max<int64_t>(n, 0),
                        context.At(PlaceOf(epoch, context.place)));
    if (auto* element = std::get_if<Element>(&step))
      element->origin.key += KeysMovedBy(epoch, context.place);
    return step;
  }
  Positions InputPositions(const Positions& positions, size_t, const RunContext&) const override {
    const int64_t n = input().cardinality();
    if (n <= 0) return n == kInfinite ? positions : Positions();
    return Moved(positions, [n](int64_t at) { return at % n; });
  }
  RandomPlace PlaceOf(int64_t epoch, const RandomPlace& place) const {
    return place.Pass(static_cast<uint64_t>(epoch), count_);
  }
  // Later stages must also draw different random numbers in each epoch. Each epoch maps identities
  // to values that no other epoch uses, including epochs of enclosing repeats.
  uint64_t KeysMovedBy(int64_t epoch, const RandomPlace& place) const {
    const RandomPlace of_epoch = PlaceOf(epoch, place);
    const bool opened = of_epoch.path.value != place.path.value;
    return 0x9E3779B97F4A7C15 * of_epoch.epoch + (opened ? of_epoch.path.value : 0);
  }
  std::string unfit() const override;
  void CarryState(StateVisitor* saved, int64_t& steps, std::string& out,
                  Carrying& carrying) const override;

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  int64_t count_;  // negative: infinite
  bool fused_;     // whether the next epoch may be filled while the current one drains
};

// The epoch number after an empty epoch of an infinite repeat.
constexpr int64_t kEndedEpoch = -1;

// Skipped steps may span several epochs, so their length must be known.
std::string RepeatDataset::unfit() const {
  if (input().cardinality() == kUnknown)
    return "repeats a number of elements that is not known in advance";
  return holds_cache() ? "repeats what a cache holds" : "";
}

void RepeatDataset::CarryState(StateVisitor* saved, int64_t& steps, std::string& out,
                               Carrying& carrying) const {
  int64_t epoch = 0;
  bool any = false, running = false;
  SavedPosition epoch_position;
  if (saved) {
    saved->IntIn(epoch, kEndedEpoch, count_ < 0 ? StateVisitor::kMostCount : count_, "the epoch");
    saved->Bool(any);
    saved->Bool(running);
    saved->Demand(!running || (epoch != kEndedEpoch && epoch != count_),
                  "nothing runs after the last epoch");
    if (running) {
      std::string child(saved->TextView());
      auto blob = std::make_shared<std::string>();
      StateVisitor(blob.get()).Text(child);
      epoch_position.state = std::move(blob);
    }
  }
  while (epoch != kEndedEpoch && (count_ < 0 || epoch < count_) && (running || steps > 0)) {
    const int64_t before = steps;
    epoch_position.steps = steps;
    SavedPosition next{epoch_position.state, StepsMore(steps, 1)};
    Carry(input(), epoch_position, carrying);
    steps = epoch_position.steps;
    const int64_t passed = before - steps;
    any = any || passed > 0;
    if (steps == 0) {
      Carrying aside = carrying;
      Carry(input(), next, aside);
      // At the end of the former processes' epoch, they continued with the next one.
      running = next.steps == 0;
      if (!running) {
        epoch_position = {};
        any = false;
        ++epoch;
      }
      break;
    }
    const bool whole = !std::exchange(running, false);
    epoch_position = {};
    any = false;
    ++epoch;
    if (!whole) continue;
    if (passed == 0) break;  // empty
    int64_t epochs = steps / passed;
    if (count_ >= 0) epochs = std::min(epochs, count_ - epoch);
    epoch += epochs;
    steps -= epochs * passed;
  }
  carrying.epoch = epoch;
  if (!running) carrying.position = 0;
  StateVisitor to(&out);
  to.Int(epoch);
  to.Bool(any);
  to.Bool(running);
  if (running) out += *epoch_position.state;
}

class RepeatIterator final : public BlockIterator {
 public:
  RepeatIterator(std::shared_ptr<const RepeatDataset> data, RunContext context, int64_t count,
                 bool fused)
      : data_(std::move(data)),
        context_(std::move(context)),
        count_(count),
        fused_(fused),
        fills_(context_.fills) {}

  void VisitState(StateVisitor& visitor) override {
    visitor.IntIn(epoch_, kEnded, count_ < 0 ? StateVisitor::kMostCount : count_, "the epoch");
    visitor.Bool(any_);
    bool running = input_ != nullptr;
    visitor.Bool(running);
    visitor.Demand(!running || (epoch_ != kEnded && epoch_ != count_),
                   "nothing runs after the last epoch");
    // The first epoch uses the fills that the stage was started with.
    if (epoch_ > 0) {
      if (visitor.saving() && !running) FindFills();
      CacheFills::VisitState(visitor, *data_, &context_.session->fills(), fills_);
      found_ = epoch_;
    }
    if (running) {
      if (!input_) Start();
      VisitChild(visitor, *input_);
    }
  }

  std::optional<Error> PassSound(int64_t& steps) override {
    while (steps > 0 && epoch_ != kEnded && (count_ < 0 || epoch_ < count_)) {
      if (context_.cancel.cancelled()) return Error(ErrorKind::kCancelled, "");
      if (!input_) Start();
      const int64_t before = steps;
      if (auto error = input_->PassSound(steps)) return error;
      any_ = any_ || steps < before;
      if (steps == 0) break;
      EndEpoch();
    }
    return std::nullopt;
  }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    while (epoch_ != kEnded && (count_ < 0 || epoch_ < count_)) {
      if (context_.cancel.cancelled()) return Block::Of(Error(ErrorKind::kCancelled, ""));
      if (!input_) Start();
      if (auto error = FillNext(max_rows)) return Block::Of(*std::move(error));
      Block block = input_->NextBlock(max_rows);
      // In an infinite repeat, an epoch in which everything fails counts as empty, because the same
      // errors would repeat forever.
      any_ = any_ || block.rows > 0 || (block.error && count_ >= 0);
      Rekey(block);
      if (!block.end) return block;
      EndEpoch();
      if (block.rows == 0) continue;
      block.end = count_ >= 0 && epoch_ >= count_;
      return block;
    }
    return Block::AtEnd();
  }

 private:
  void EndEpoch() {
    input_.reset();
    ++epoch_;
    // An empty epoch would repeat forever.
    if (!any_ && (count_ < 0 || data_->input().cardinality() == 0)) {
      epoch_ = kEnded;
      next_.reset();
    }
    any_ = false;
  }

  void Rekey(Block& block) const {
    const uint64_t moved = data_->KeysMovedBy(epoch_, context_.place);
    if (moved == 0) return;
    block.origins.first.key += moved;
    for (uint64_t& key : block.origins.keys) key += moved;
    for (Element& element : block.elements) element.origin.key += moved;
  }

  void Start() {
    // Destroy the previous epoch first, so that generators and threads of two epochs do not
    // overlap.
    input_.reset();
    FindFills();
    input_ = next_ ? std::move(next_) : StartEpoch(epoch_, fills_);
    if (fused_) filling_ = dynamic_cast<FillsAhead*>(input_.get());
  }

  IteratorPtr StartEpoch(int64_t epoch, std::shared_ptr<const CacheFills> fills) {
    RunContext context = context_.At(data_->PlaceOf(epoch, context_.place));
    context.fills = std::move(fills);
    return data_->StartInput(context);
  }

  // Finds the current fills of caches upstream at the start of an epoch, which earlier epochs may
  // have made.
  void FindFills() {
    if (found_ == epoch_) return;
    fills_ = next_ ? next_fills_ : FillsNow();
    found_ = epoch_;
  }
  std::shared_ptr<const CacheFills> FillsNow() {
    return CacheFills::Now(*data_, context_.session->fills(), fills_);
  }

  // For each element of an epoch that only drains its buffer, the next epoch pulls one step.
  std::optional<Error> FillNext(int64_t rows) {
    bool last = count_ >= 0 && epoch_ + 1 >= count_;
    if (!filling_ || last) return std::nullopt;
    int64_t left = filling_->Draining();
    if (left == 0) return std::nullopt;
    if (!next_) {
      try {
        next_fills_ = FillsNow();
        next_ = StartEpoch(epoch_ + 1, next_fills_);
      } catch (...) {
        filling_ = nullptr;  // it fails again, at its position
        return std::nullopt;
      }
    }
    return dynamic_cast<FillsAhead&>(*next_).FillAhead(std::min(rows, left));
  }

  std::shared_ptr<const RepeatDataset> data_;
  RunContext context_;
  int64_t count_;
  const bool fused_;
  static constexpr int64_t kEnded = kEndedEpoch;
  int64_t epoch_ = 0;
  bool any_ = false;  // the epoch has delivered something
  IteratorPtr input_;
  std::shared_ptr<const CacheFills> fills_;  // of epoch found_
  int64_t found_ = 0;
  IteratorPtr next_;  // the next epoch, if it was started
  std::shared_ptr<const CacheFills> next_fills_;
  FillsAhead* filling_ = nullptr;  // input_, if it implements FillsAhead
};

IteratorPtr RepeatDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<RepeatIterator>(
      std::static_pointer_cast<const RepeatDataset>(shared_from_this()), context, count_, fused_);
}

// fused=False does not overlap epochs, for comparison: the results are the same.
const RegisterDataset repeat_stage("repeat", {.of_positions = true, .share_states = {"fused"}},
                                   [](const std::vector<DatasetPtr>&,
                                      const Args& args) -> std::shared_ptr<Dataset> {
                                     return std::make_shared<RepeatDataset>(
                                         args.Int("count"),
                                         !args.Has("fused") || args.Bool("fused"));
                                   });

}  // namespace
}  // namespace penstock
