// window: datasets of consecutive elements, which may overlap or skip some.
#include <algorithm>
#include <deque>
#include <limits>
#include <vector>

#include "data/foreign.h"
#include "engine/held_rows.h"
#include "engine/input.h"
#include "engine/registry.h"

namespace penstock {
namespace {

struct WindowShape {
  int64_t size;
  int64_t shift;   // between the first elements of two windows
  int64_t stride;  // between elements of one window
  bool drop;       // drop windows with fewer elements

  // The distance from the first to the last element of a window, inclusive; saturated.
  int64_t span() const {
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    return size - 1 > (kMost - 1) / stride ? kMost : (size - 1) * stride + 1;
  }
};

class WindowDataset final : public Dataset {
 public:
  explicit WindowDataset(WindowShape shape) : shape_(shape) {}
  int64_t cardinality() const override {
    int64_t n = input().cardinality();
    if (n < 0) return n;
    if (!shape_.drop) return n / shape_.shift + (n % shape_.shift != 0);
    return n < shape_.span() ? 0 : (n - shape_.span()) / shape_.shift + 1;
  }
  MaybeSpec spec() const override {
    MaybeSpec in = input_spec();
    if (in) in->leaves.assign(in->leaves.size(), {DType::Of(TypeCode::kObject), {}, false});
    return in;
  }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  WindowShape shape_;
};

// Pulled rows, in the blocks in which they arrived.
class RowQueue {
 public:
  int64_t rows() const { return rows_; }
  void Add(Block block, int64_t position) {
    rows_ += block.rows;
    blocks_.push_back({std::move(block), position});
  }
  // Drops the first `count` rows; at most rows().
  void Drop(int64_t count) {
    rows_ -= count;
    begin_ += count;
    while (!blocks_.empty() && begin_ >= blocks_.front().block.rows) {
      begin_ -= blocks_.front().block.rows;
      blocks_.pop_front();
    }
  }
  // The position of the first row in the input.
  int64_t position() const { return blocks_.front().position + begin_; }
  Origin origin() const { return blocks_.front().block.origin(begin_); }

  // Every `stride`-th of the first `span` rows.
  std::vector<Block> Take(int64_t span, int64_t stride) const {
    std::vector<Block> taken;
    int64_t at = begin_;
    int64_t left = span;
    for (const Positioned& held : blocks_) {
      for (; at < held.block.rows && left > 0; at += stride, left -= stride) {
        bool together = stride == 1;
        int64_t count = together ? std::min(left, held.block.rows - at) : 1;
        taken.push_back(held.block.Slice(at, count));
        if (together) at += count - 1, left -= count - 1;
      }
      if (left <= 0) break;
      at -= held.block.rows;
    }
    return taken;
  }

 private:
  struct Positioned {
    Block block;
    int64_t position;
  };
  std::deque<Positioned> blocks_;
  int64_t begin_ = 0;  // index of the first row in the first block
  int64_t rows_ = 0;
};

class WindowIterator final : public Iterator {
 public:
  // `ahead`: rows that may be pulled before they are needed.
  WindowIterator(IteratorPtr input, WindowShape shape, int64_t ahead, CancelToken cancel)
      : input_(std::move(input)), shape_(shape), ahead_(ahead), cancel_(std::move(cancel)) {}

  void VisitState(StateVisitor& visitor) override {
    // Rows needed by the next window are pulled again. Errors reported before are not repeated.
    int64_t waiting = error_ && !error_->transient();
    int64_t low = queue_.rows() > 0 ? queue_.position() : input_.position() - waiting;
    int64_t back = input_.position() - low;
    int64_t again = back - waiting + replay_;
    visitor.Count(again, "steps pulled before");
    visitor.Count(to_skip_, "elements between two windows", shape_.shift);
    visitor.Count(index_, "windows given");
    input_.VisitState(visitor, back);
    if (!visitor.saving()) replay_ = again;
  }

 protected:
  Step DoNext() override {
    const int64_t span = shape_.span();
    while (queue_.rows() < span && (error_ || !ended_)) {
      if (auto error = Pull(span)) return *std::move(error);
    }
    if (queue_.rows() == 0 || (shape_.drop && queue_.rows() < span)) return End{};
    try {
      Element window = Make(std::min(span, queue_.rows()));
      MoveOn();
      return window;
    } catch (const Error& error) {
      if (!error.transient()) MoveOn();
      throw;
    }
  }

 private:
  void MoveOn() {
    ++index_;
    int64_t dropped = std::min(shape_.shift, queue_.rows());
    queue_.Drop(dropped);
    to_skip_ = shape_.shift - dropped;
  }

  // Pulls more rows, an error, or the end.
  std::optional<Error> Pull(int64_t span) {
    if (cancel_.cancelled()) return Error(ErrorKind::kCancelled, "");
    if (error_) return std::exchange(error_, std::nullopt);
    int64_t position = input_.position();
    input_.Keep(queue_.rows() > 0 ? queue_.position() : position);
    int64_t want = to_skip_ > 0 ? to_skip_ : std::max(span - queue_.rows(), ahead_);
    if (replay_ > 0) want = std::min(want, replay_);
    Block block = input_.NextBlock(std::min(want, kMostPulled));
    replay_ -= std::min(replay_, block.rows);
    ended_ = block.end;
    error_ = std::exchange(block.error, std::nullopt);
    if (error_ && !error_->transient() && replay_ > 0) {
      --replay_;
      error_.reset();
    }
    if (to_skip_ > 0) {
      to_skip_ -= block.rows;
    } else if (block.rows > 0) {
      block.end = false;
      queue_.Add(std::move(block), position);
    }
    return std::nullopt;
  }

  // Creates one dataset per leaf of the elements.
  Element Make(int64_t span) {
    std::vector<Block> rows = queue_.Take(span, shape_.stride);
    Element window;
    window.structure = StructureOf(rows);
    window.origin = queue_.origin();
    window.origin.key = ChildKey(window.origin.key, ~uint64_t{0});
    for (const Block& block : rows) block.JoinOrigins(window.origin, 0, block.rows);
    for (size_t leaf = 0; leaf < static_cast<size_t>(window.structure->leaves()); ++leaf) {
      std::vector<Block> parts;
      for (const Block& block : rows) parts.push_back(Component(block, leaf));
      window.leaves.push_back(TheForeignRuntime().WrapDataset(HoldRows(std::move(parts))));
    }
    return window;
  }

  // Returns the common structure of all rows. Rows whose dicts list their keys in a different order
  // are converted.
  StructureRef StructureOf(std::vector<Block>& rows) const {
    const StructureRef structure =
        rows.front().stacked() ? rows.front().structure : rows.front().elements.front().structure;
    int64_t number = 0;
    for (Block& block : rows) {
      if (block.stacked()) {
        Reorder(block.structure, block.columns, structure, number);
        block.structure = structure;
      }
      for (size_t i = 0; i < block.elements.size(); ++i) {
        Element& element = block.elements[i];
        Reorder(element.structure, element.leaves, structure, number + static_cast<int64_t>(i));
        element.structure = structure;
      }
      number += block.rows;
    }
    return structure;
  }

  template <typename Leaves>
  void Reorder(const Structure* came, Leaves& leaves, const Structure* wanted,
               int64_t number) const {
    if (Conform(came, leaves, wanted)) return;
    throw Error(ErrorKind::kInvalidArgument,
                "window: element {} of window {} has structure {}, the window began with {}; "
                "make the structures equal in a map first",
                number, index_, came->ToString(), wanted->ToString());
  }

  static Block Component(const Block& rows, size_t leaf) {
    Block single;
    single.rows = rows.rows;
    single.origins = rows.origins;
    if (rows.stacked()) single.columns.push_back(rows.columns[leaf]);
    for (const Element& element : rows.elements) {
      single.elements.push_back({{element.leaves[leaf]}, Structure::Leaf(), element.origin});
    }
    return single;
  }

  static constexpr int64_t kMostPulled = 1 << 16;  // per pull, so that the stage stays closable

  Input input_;
  const WindowShape shape_;
  const int64_t ahead_;
  CancelToken cancel_;
  RowQueue queue_;              // rows from the first one of the next window on
  int64_t to_skip_ = 0;         // rows between two windows that belong to neither
  int64_t index_ = 0;           // of the next window
  int64_t replay_ = 0;          // steps pulled before the state was saved
  std::optional<Error> error_;  // follows the rows of the queue
  bool ended_ = false;
};

IteratorPtr WindowDataset::MakeIterator(const RunContext& context) const {
  // Rows in memory cost nothing; windows are then slices of few large blocks.
  int64_t ahead = input().indexed() ? 256 : 1;
  return std::make_unique<WindowIterator>(StartInput(context.Replayed()), shape_, ahead,
                                          context.cancel);
}

const RegisterDataset window_stage("window", {.foreign = true},
                                   [](const std::vector<DatasetPtr>&,
                                      const Args& args) -> std::shared_ptr<Dataset> {
                                     WindowShape shape{args.IntAtLeast("size", 1), 0,
                                                       args.IntAtLeast("stride", 1, 1),
                                                       args.Bool("drop_remainder")};
                                     shape.shift = args.IntAtLeast("shift", 1, shape.size);
                                     return std::make_shared<WindowDataset>(shape);
                                   });

}  // namespace
}  // namespace penstock
