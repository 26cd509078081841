// pack: several sequences in one row of fixed length.
#include <algorithm>
#include <deque>

#include "data/element_text.h"
#include "data/empty_list.h"
#include "engine/input.h"
#include "engine/registry.h"
#include "stages/pack/pack_options.h"
#include "stages/pack/packing.h"

namespace penstock {
namespace {

class PackDataset final : public Dataset {
 public:
  explicit PackDataset(PackOptions options) : options_(std::move(options)) {}
  int64_t cardinality() const override {
    return input().cardinality() == kInfinite ? kInfinite : kUnknown;
  }
  MaybeSpec spec() const override {
    MaybeSpec in = input_spec();
    if (!in) return in;
    std::vector<DType> dtypes;
    for (auto& leaf : in->leaves) dtypes.push_back(leaf.dtype);
    std::vector<LeafPadding> leaves = options_.Match(in->structure, dtypes);
    ElementSpec out{Structure::Tuple({in->structure, in->structure, in->structure}), {}};
    for (int part = 0; part < 3; ++part) {
      for (size_t i = 0; i < leaves.size(); ++i) {
        DType dtype = part == 0 ? dtypes[i] : DTypeOf<int32_t>();
        out.leaves.push_back({dtype, leaves[i].shape, false});
      }
    }
    return out;
  }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  PackOptions options_;
};

constexpr int64_t kMostItems = int64_t{1} << 40;  // per sequence

class PackIterator final : public Iterator {
 public:
  PackIterator(IteratorPtr input, PackOptions options, CancelToken cancel)
      : input_(std::move(input)), options_(std::move(options)), cancel_(std::move(cancel)) {}

  // Held elements are pulled again, starting with the oldest. The assignment of their segments to
  // packs is saved, because it depends on earlier elements.
  void VisitState(StateVisitor& visitor) override {
    if (!visitor.saving()) return Restore(visitor);
    int64_t low = Low();
    // After a restore, the input has not caught up until the first call.
    int64_t again = position() + replay_ - low;
    visitor.Int(again);
    int64_t index = low;
    visitor.Int(index);
    visitor.Int(begun_);
    int64_t open = current_ ? current_->position - low : -1;
    visitor.Int(open);
    visitor.Int(part_);
    std::vector<int64_t> held;
    for (const OpenPack& pack : packs_) {
      held.push_back(pack.number);
      held.push_back(static_cast<int64_t>(pack.segments.size()));
      for (const Segment& segment : pack.segments) {
        held.insert(held.end(), {segment.position - low, segment.part, segment.items});
      }
    }
    visitor.Ints(held);
    input_.VisitState(visitor, position() - low);
  }

 protected:
  Step DoNext() override {
    for (;;) {
      if (cancel_.cancelled()) return Error(ErrorKind::kCancelled, "");
      if (current_ && replay_ == 0) {
        if (auto made = Place()) return *std::move(made);
        continue;
      }
      if (replay_ == 0) input_.Keep(Low() - base_);
      input_.Mark();
      int64_t at = position();
      Step step = input_.Next();
      if (position() > at && replay_ > 0) {
        if (auto* element = std::get_if<Element>(&step)) Refill(at, std::move(*element));
        if (--replay_ == 0) CheckRefilled();
        continue;
      }
      if (std::holds_alternative<End>(step)) {
        if (std::exchange(replay_, 0) > 0) CheckRefilled();
        return Finish();
      }
      auto* element = std::get_if<Element>(&step);
      if (!element) return step;
      try {
        Begin(at, *element);
      } catch (Error& error) {
        return error.In({label(), at, ElementText(*element)}, element->origin);
      }
    }
  }

 private:
  struct Current {
    int64_t position;
    Origin origin;
    std::vector<Tensor> leaves;
  };

  int64_t position() const { return base_ + input_.position(); }

  // The position of the oldest element still needed.
  int64_t Low() const {
    int64_t low = position();
    if (current_) low = std::min(low, current_->position);
    for (const OpenPack& pack : packs_) {
      for (const Segment& segment : pack.segments) low = std::min(low, segment.position);
    }
    return low;
  }

  // Accepts a new element, or throws.
  void Begin(int64_t at, const Element& element) {
    std::vector<Tensor> leaves = Ordered(element, at);
    Element ordered{leaves, layout_->structure(), element.origin};
    bool empty = true, fits = true;
    size_t long_leaf = 0;
    for (size_t i = leaves.size(); i-- > 0;) {
      empty = empty && leaves[i].elements() == 0;
      if (leaves[i].elements() <= layout_->length(i)) continue;
      fits = false;
      long_leaf = i;
    }
    if (empty) return;
    if (!fits && !options_.concat && options_.too_long == TooLong::kDrop) return;
    if (!fits && !options_.concat && options_.too_long == TooLong::kError) {
      std::string path = layout_->structure()->LeafPath(static_cast<int>(long_leaf));
      throw Error(ErrorKind::kInvalidArgument,
                  "pack: element {}{} has {} items, more than length={}; cut it in a map, or use "
                  "too_long=\"split\" or \"drop\"",
                  at, path.empty() ? path : "'s leaf " + path, leaves[long_leaf].elements(),
                  layout_->length(long_leaf));
    }
    current_ = Current{at, element.origin, std::move(leaves)};
    part_ = 0;
  }

  // Returns the leaves in the order and dtypes of the packs.
  std::vector<Tensor> Ordered(const Element& element, int64_t at) {
    options_.CheckElement(at, element);
    std::vector<DType> dtypes;
    for (const Tensor& leaf : element.leaves) dtypes.push_back(leaf.dtype());
    if (packs_.empty()) {
      layout_.emplace(element.structure, dtypes, options_.Match(element.structure, dtypes));
      return element.leaves;
    }
    std::vector<Tensor> leaves = element.leaves;
    bool same = Conform(element.structure, leaves, layout_->structure());
    for (size_t i = 0; same && i < leaves.size(); ++i) {
      const LeafSpec form{layout_->dtypes()[i], leaves[i].shape()};
      if (IsEmptyList(leaves[i])) leaves[i] = EmptyRows(1, form).Row(0);
      same = leaves[i].dtype() == layout_->dtypes()[i];
    }
    if (same) return leaves;
    throw Error(ErrorKind::kInvalidArgument,
                "pack: element {} is {}, the packs began with {}; make structure and dtypes equal "
                "in a map first",
                at, ElementSpec::Of(element).ToString(), layout_->structure()->ToString());
  }

  // Returns a segment of an element, as it appears in a pack.
  Segment Cut(const std::vector<Tensor>& leaves, int64_t at, int64_t part, int64_t items) const {
    Segment segment{at, part, items, {}};
    bool empty = true;
    for (size_t i = 0; i < leaves.size(); ++i) {
      int64_t length = layout_->length(i);
      int64_t all = leaves[i].elements();
      // Values from a state may be anything: avoid overflow of the product.
      int64_t begin = options_.concat ? part : part > all / length ? all : part * length;
      int64_t count = options_.concat ? items : std::min(length, all - begin);
      if (begin < 0 || count < 0 || count > all - begin) throw NotAsItWas();
      empty = empty && count == 0;
      segment.leaves.push_back(leaves[i].Rows(begin, count));
    }
    if (empty) throw NotAsItWas();
    return segment;
  }

  // Puts the next segment of the current element into a pack. Returns a pack that is now complete,
  // or that must be closed to make room.
  std::optional<Element> Place() {
    size_t chosen = 0;
    Segment segment;
    if (options_.concat) {
      int64_t room = layout_->length(0) - (packs_.empty() ? 0 : packs_.front().used[0]);
      int64_t left = current_->leaves[0].elements() - part_;
      segment = Cut(current_->leaves, current_->position, part_, std::min(room, left));
    } else {
      segment = Cut(current_->leaves, current_->position, part_, 0);
      while (chosen < packs_.size() && !layout_->Fits(packs_[chosen], segment)) ++chosen;
      bool crowded = static_cast<int64_t>(packs_.size()) >= options_.open_packs;
      // Close old packs, so that no element is held, and pulled again after a restore, forever.
      bool stale = !packs_.empty() && (begun_ - packs_.front().number) / 4 >= options_.open_packs;
      if (chosen == packs_.size() && (crowded || stale)) return Close(0);
    }
    if (chosen == packs_.size()) {
      packs_.push_back({begun_++, current_->origin, {}, {}});
    }
    packs_[chosen].origin.Join(current_->origin);
    bool last = true;
    for (size_t i = 0; i < current_->leaves.size(); ++i) {
      int64_t next = options_.concat ? part_ + segment.items : (part_ + 1) * layout_->length(i);
      last = last && next >= current_->leaves[i].elements();
    }
    part_ += options_.concat ? segment.items : 1;
    packs_[chosen].Add(std::move(segment));
    if (last) current_.reset();
    if (layout_->Full(packs_[chosen])) return Close(chosen);
    return std::nullopt;
  }

  Element Close(size_t index) {
    OpenPack pack = std::move(packs_[index]);
    packs_.erase(packs_.begin() + static_cast<int64_t>(index));
    return layout_->Make(pack);
  }

  Step Finish() {
    if (packs_.empty() || options_.drop_remainder) {
      packs_.clear();
      return End{};
    }
    return Close(0);
  }

  static Error NotAsItWas() {
    return Error(ErrorKind::kRuntime,
                 "pack: the input has other elements than when the state was saved");
  }

  // Checks that everything that was held has been pulled again.
  void CheckRefilled() {
    bool whole = !current_ || !current_->leaves.empty();
    for (const OpenPack& pack : packs_) {
      for (const Segment& segment : pack.segments) whole = whole && !segment.leaves.empty();
      whole = whole && !layout_->Full(pack);  // otherwise it would have been delivered
    }
    if (whole) return;
    packs_.clear();
    current_.reset();
    throw NotAsItWas();
  }

  void Restore(StateVisitor& visitor) {
    int64_t open = -1;
    visitor.Count(replay_, "elements to be pulled again");
    visitor.Count(base_, "elements pulled before");
    visitor.Count(begun_, "packs begun");
    visitor.IntIn(open, -1, replay_ - 1, "the element that is being packed");
    visitor.Count(part_, "its next segment", kMostItems);
    std::vector<int64_t> held;
    visitor.Ints(held);
    input_.VisitState(visitor, 0);
    if (open >= 0) current_ = Current{base_ + open, {}, {}};
    auto demand = [&visitor](bool good) {
      visitor.Demand(good, "the segments that are held must be of elements that are pulled again");
    };
    for (size_t i = 0; i < held.size();) {
      demand(held.size() - i >= 2);
      OpenPack pack;
      pack.number = held[i];
      demand(pack.number < begun_ && pack.number > (packs_.empty() ? -1 : packs_.back().number));
      int64_t segments = held[i + 1];
      i += 2;
      demand(segments >= 1 && segments <= static_cast<int64_t>((held.size() - i) / 3));
      for (; segments > 0; --segments, i += 3) {
        int64_t position = held[i], part = held[i + 1], items = held[i + 2];
        demand(position >= 0 && position < replay_ && part >= 0 && part <= kMostItems);
        demand(items >= 0 && items <= kMostItems);
        pack.segments.push_back({base_ + position, part, items, {}});
      }
      packs_.push_back(std::move(pack));
    }
  }

  // Restores the segments of an element that was pulled before the state was saved. CheckRefilled
  // detects segments that no longer fit.
  void Refill(int64_t at, Element element) {
    try {
      PutBack(at, std::move(element));
    } catch (const Error& error) {
      if (error.transient()) throw;
    }
  }

  void PutBack(int64_t at, Element element) {
    bool needed = current_ && current_->position == at;
    for (const OpenPack& pack : packs_) {
      for (const Segment& segment : pack.segments) needed = needed || segment.position == at;
    }
    if (!needed) return;
    Origin origin = element.origin;
    if (!layout_) {
      std::vector<DType> dtypes;
      for (const Tensor& leaf : element.leaves) dtypes.push_back(leaf.dtype());
      layout_.emplace(element.structure, dtypes, options_.Match(element.structure, dtypes));
    }
    std::vector<Tensor> leaves = Ordered(element, at);
    for (OpenPack& pack : packs_) {
      if (pack.segments.front().position == at) pack.origin = origin;
      for (Segment& segment : pack.segments) {
        if (segment.position != at) continue;
        pack.origin.Join(origin);
        segment = Cut(leaves, at, segment.part, segment.items);
        pack.used.resize(leaves.size());
        for (size_t i = 0; i < leaves.size(); ++i) {
          pack.used[i] += segment.leaves[i].elements();
          if (pack.used[i] <= layout_->length(i)) continue;
          segment.leaves.clear();
          throw NotAsItWas();
        }
      }
    }
    if (!current_ || current_->position != at) return;
    Cut(leaves, at, part_, 1);  // checks that some of it is left
    current_ = Current{at, origin, std::move(leaves)};
  }

  Input input_;
  const PackOptions options_;
  CancelToken cancel_;
  std::deque<OpenPack> packs_;
  std::optional<PackLayout> layout_;  // of packs_, or of the last pack
  std::optional<Current> current_;    // the element being split into segments
  int64_t part_ = 0;                  // the next segment of current_
  int64_t begun_ = 0;                 // packs started
  int64_t base_ = 0;                  // steps before the input's own count started
  int64_t replay_ = 0;                // steps pulled before the state was saved
};

IteratorPtr PackDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<PackIterator>(StartInput(context.Replayed()), options_, context.cancel);
}

const RegisterDataset pack_stage("pack",
                                 {.arguments = {{"lengths", ArgumentForm::kSpec},
                                                {"padding_value", ArgumentForm::kValue},
                                                {"padding_values", ArgumentForm::kValue}}},
                                 [](const std::vector<DatasetPtr>& inputs,
                                    const Args& args) -> std::shared_ptr<Dataset> {
                                   PackOptions options = PackOptions::Of(args);
                                   if (MaybeSpec in = inputs[0]->spec()) options.CheckSpec(*in);
                                   return std::make_shared<PackDataset>(std::move(options));
                                 });

}  // namespace
}  // namespace penstock
