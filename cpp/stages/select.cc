// select: the elements at the positions that another dataset yields.
#include <algorithm>
#include <cstring>

#include "data/whole_number.h"
#include "engine/elastic.h"
#include "engine/lookahead.h"
#include "engine/random_access.h"
#include "engine/registry.h"
#include "engine/row_cursor.h"

namespace penstock {
namespace {

// Returns the bytes of rows that are int64 numbers in one array; null for other forms.
const uint8_t* NumbersOf(const Block& rows) {
  if (!rows.stacked() || rows.structure != Structure::Leaf()) return nullptr;
  const Column& column = rows.columns[0];
  const Tensor& items = column.items;
  const bool numbers =
      column.stacked() && items.dtype() == DTypeOf<int64_t>() && items.shape().rank() == 1;
  return numbers ? items.data() : nullptr;
}

// Inputs: the positions, and the data. This does not fork the randomness of the data: its elements
// are the same as without this stage.
class SelectDataset final : public Dataset, public RandomAccess, public Elastic {
 public:
  int64_t cardinality() const override { return input().cardinality(); }
  MaybeSpec spec() const override { return input_spec(1); }
  Step At(int64_t index, const RunContext& context) const override {
    Step step = InputAt(*this, index, context);
    if (!std::holds_alternative<Element>(step)) return step;
    return ElementAt(input(1), PositionIn(Block::Of(std::move(step)), 0), context);
  }
  Positions InputPositions(const Positions& positions, size_t input_number,
                           const RunContext& context) const override {
    if (input_number == 0) return positions;
    Positions chosen;
    if (!input().quiet() || input().needs_lock()) return chosen;
    try {
      const Block rows = ElementsAt(input(), positions, context);
      PositionsIn(rows, 0, rows.rows, chosen);
    } catch (const Error&) {  // raised when the element is requested
    }
    return chosen;
  }
  void CarryState(StateVisitor* saved, int64_t& steps, std::string& out,
                  Carrying& carrying) const override {
    SavedPosition positions;
    if (saved) positions = SavedPosition::Read(*saved);
    const int64_t after = std::exchange(steps, 0);
    positions.steps = StepsMore(positions.steps, after);
    Carry(input(), positions, carrying);
    steps = std::min(positions.steps, after);
    StateVisitor to(&out);
    positions.Write(to);
  }
  // Appends the positions in `count` rows, starting at row `first`. At the first invalid position
  // it throws; the positions before it are then in `to`.
  void PositionsIn(const Block& rows, int64_t first, int64_t count, Positions& to) const;

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  int64_t PositionIn(const Block& rows, int64_t row) const;
  // Negative numbers count from the end of `size` elements.
  int64_t PositionOf(int64_t number, int64_t size) const;
};

void SelectDataset::PositionsIn(const Block& rows, int64_t first, int64_t count,
                                Positions& to) const {
  to.reserve(static_cast<size_t>(count));
  if (const uint8_t* numbers = NumbersOf(rows)) {
    const int64_t size = input(1).cardinality();
    for (int64_t row = first; row < first + count; ++row) {
      int64_t number;
      std::memcpy(&number, numbers + row * static_cast<int64_t>(sizeof(number)), sizeof(number));
      to.push_back(PositionOf(number, size));
    }
  } else {
    for (int64_t row = first; row < first + count; ++row) to.push_back(PositionIn(rows, row));
  }
}

int64_t SelectDataset::PositionIn(const Block& rows, int64_t row) const {
  auto found = WholeNumber(rows.Row(row));
  if (!found) {
    throw Error(ErrorKind::kType, "{}: each position must be an integer, got {}", name(),
                ElementSpec::Of(rows.Row(row)).ToString());
  }
  return PositionOf(*found, input(1).cardinality());
}

int64_t SelectDataset::PositionOf(int64_t number, int64_t size) const {
  const int64_t position = number < 0 && size != kInfinite ? number + size : number;
  if (position < 0 || (size != kInfinite && position >= size)) {
    throw Error(ErrorKind::kInvalidArgument, "{}: each position must be in [{}, {}), got {}",
                name(), size == kInfinite ? 0 : -size, size, number);
  }
  return position;
}

class SelectIterator final : public BlockIterator {
  static constexpr int64_t kMostBytes = int64_t{8} << 20;
  static constexpr int64_t kMostRows = 1024;
  static constexpr int64_t kFirstWindow = 64;

 public:
  SelectIterator(std::shared_ptr<const SelectDataset> data, RunContext context)
      : data_(std::move(data)),
        context_(std::move(context)),
        positions_(data_->StartInput(context_)),
        lookahead_(data_->input(1), context_) {
    if (!data_->input().quiet()) return;
    // Reading rows costs less if many are requested together.
    const Indexed* rows = data_->input(1).indexed();
    if (rows && rows->row_bytes() > 0) {
      most_ahead_ = std::clamp<int64_t>(kMostBytes / rows->row_bytes(), 1, kMostRows);
    }
    looks_ahead_ = !lookahead_.empty();
    if (looks_ahead_) context_.lookahead = &lookahead_;
  }

  void VisitState(StateVisitor& visitor) override { positions_.VisitState(visitor, waiting()); }
  std::optional<Error> Discard(int64_t& steps) override {
    if (waiting() > 0 || positions_.waiting() > 0) return Iterator::Discard(steps);
    return positions_.input().Discard(steps);
  }

 protected:
  Block DoNextBlock(int64_t max_rows) override {
    while (waiting() == 0) {
      if (!positions_.empty()) {
        Ask(max_rows);
        if (rows_.error && rows_.error->transient() && rows_.rows == 0) return std::move(rows_);
      } else if (positions_.failed()) {
        return Block::Of(positions_.TakeError());
      } else if (positions_.ended()) {
        return Block::AtEnd();
      } else {
        positions_.input().Keep(positions_.position());
        positions_.Pull(std::max({max_rows, ahead_, Window()}));
      }
    }
    return Given(max_rows);
  }

 private:
  // Steps of the data that were not delivered.
  int64_t waiting() const { return rows_.steps() - given_; }

  // The number of positions to look ahead. It grows, so that the first elements arrive early.
  int64_t Window() { return looks_ahead_ ? std::min(lookahead_.window(), most_window_) : 0; }

  // Lets the sources decode the rows of the next positions, unless they already have.
  void LookAhead() {
    constexpr int64_t kGrowth = 8;
    if (looked_at_ > 0) return;
    const int64_t wanted = Window();
    if (wanted > 0) positions_.Extend(wanted);
    const int64_t window = std::min(wanted, positions_.left());
    if (window == 0) return;
    Positions next;
    try {
      data_->PositionsIn(positions_.block(), positions_.next(), window, next);
    } catch (const Error&) {  // raised by Ask, at its position
    }
    if (most_window_ <= lookahead_.window()) most_window_ *= kGrowth;
    if (next.empty()) return;
    lookahead_.Decode(next);
    looked_at_ = std::ssize(next);
  }

  // Requests the elements at the next positions, up to the first invalid one.
  void Ask(int64_t max_rows) {
    LookAhead();
    int64_t most = std::min(std::max(max_rows, ahead_), positions_.left());
    if (looked_at_ > 0) most = std::min(most, looked_at_);
    ahead_ = std::min(2 * ahead_, most_ahead_);
    Positions wanted;
    given_ = 0;
    rows_ = Block();
    try {
      data_->PositionsIn(positions_.block(), positions_.next(), most, wanted);
    } catch (const Error& error) {
      if (wanted.empty()) rows_ = Block::Of(error);
    }
    if (!wanted.empty()) {
      try {
        rows_ = ElementsAt(data_->input(1), wanted, context_);
        Identify(wanted);
      } catch (const Error& error) {
        rows_ = Block::Of(error);
      } catch (...) {
        positions_.Pass();  // elements after it remain available
        throw;
      }
    }
    for (int64_t i = 0; i < rows_.steps(); ++i) positions_.Pass();
    looked_at_ = std::max<int64_t>(looked_at_ - rows_.steps(), 0);
  }

  // An element that is selected twice gets a distinct identity each time, from its positions.
  void Identify(const Positions& wanted) {
    const Block& from = positions_.block();
    for (int64_t row = 0; row < rows_.rows; ++row) {
      const auto at = static_cast<size_t>(row);
      const uint64_t moved = from.key(positions_.next() + row) - static_cast<uint64_t>(wanted[at]);
      if (moved == 0) continue;
      if (!rows_.elements.empty()) {
        rows_.elements[at].origin.key += moved;
        continue;
      }
      if (rows_.origins.keys.empty()) {
        for (int64_t i = 0; i < rows_.rows; ++i) {
          rows_.origins.keys.push_back(rows_.origins.first.key + static_cast<uint64_t>(i));
        }
      }
      rows_.origins.keys[at] += moved;
      if (row == 0) rows_.origins.first.key += moved;
    }
  }

  Block Given(int64_t max_rows) {
    const int64_t left = rows_.rows - given_;
    const int64_t count = std::min(max_rows, left);
    if (given_ == 0 && count == left) return std::exchange(rows_, Block());
    Block block;
    if (count > 0) block = rows_.Slice(given_, count);
    given_ += count;
    if (given_ == rows_.rows) {
      block.error = std::exchange(rows_.error, std::nullopt);
      rows_ = Block();
      given_ = 0;
    }
    return block;
  }

  std::shared_ptr<const SelectDataset> data_;
  RunContext context_;
  RowCursor positions_;
  Block rows_;         // the elements at the last requested positions
  int64_t given_ = 0;  // delivered rows of rows_
  int64_t ahead_ = 1;  // rows to request even if the consumer needs fewer
  int64_t most_ahead_ = 1;
  Lookahead lookahead_;
  bool looks_ahead_ = false;            // pulling positions early has no visible effect
  int64_t most_window_ = kFirstWindow;  // of positions to look ahead
  int64_t looked_at_ = 0;               // number of next positions already decoded
};

IteratorPtr SelectDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<SelectIterator>(
      std::static_pointer_cast<const SelectDataset>(shared_from_this()), context);
}

const RegisterDataset select_stage(
    "select", {.fetches = true},
    [](const std::vector<DatasetPtr>& inputs, const Args&) -> std::shared_ptr<Dataset> {
      if (const Dataset* stage = StageWithoutRandomAccess(*inputs[1])) {
        throw Error(ErrorKind::kType,
                    "{}: every stage before it must have random access, {} has none: its elements "
                    "are found in order only",
                    std::string_view("select"), stage->name());
      }
      return std::make_shared<SelectDataset>();
    });

}  // namespace
}  // namespace penstock
