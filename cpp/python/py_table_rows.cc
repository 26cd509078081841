// table_rows: the rows of tables that the input fetches, in order.
#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <numeric>
#include <utility>

#include "data/table.h"
#include "engine/lookahead.h"
#include "engine/random_access.h"
#include "engine/registry.h"
#include "python/arrow.h"
#include "python/errors.h"
#include "python/gil.h"
#include "python/types.h"
#include "stages/unbatch/split_rows.h"

namespace penstock {
namespace {

using Batches = std::vector<Block>;

class TableRowsDataset;

// Rows of one decoded table: all of them, or those with given numbers.
struct DecodedTable {
  Batches batches;
  std::vector<int64_t> rows;  // their numbers, ascending; empty: all
  Origin origin;              // of row 0 of the table

  // Empty if the row is not here.
  std::optional<TableRow> Find(int64_t row) const {
    if (!rows.empty()) {
      const auto found = std::ranges::lower_bound(rows, row);
      if (found == rows.end() || *found != row) return std::nullopt;
      row = found - rows.begin();
    }
    for (const Block& batch : batches) {
      if (row < batch.rows) return TableRow{&batch, row};
      row -= batch.rows;
    }
    return std::nullopt;
  }
  Origin OriginOf(int64_t row) const {
    Origin of = origin;
    of.key += static_cast<uint64_t>(row);
    of.index += row;
    return of;
  }
  int64_t count() const {
    return std::accumulate(batches.begin(), batches.end(), int64_t{0},
                           [](int64_t sum, const Block& batch) { return sum + batch.rows; });
  }
  int64_t bytes() const {
    size_t sum = rows.size() * sizeof(rows[0]);
    for (const Block& batch : batches) sum += batch.footprint();
    return static_cast<int64_t>(sum);
  }
};
using DecodedPtr = std::shared_ptr<const DecodedTable>;

// Keeps every decoded table while all tables fit into the limit; otherwise only the rows of the
// last LookAhead.
class KeptTables final : public DecodedRows {
 public:
  explicit KeptTables(const TableRowsDataset& owner) : owner_(owner) {}

  void SetLimit(int64_t bytes) override { limit_ = bytes; }
  int64_t bytes() const override { return bytes_; }
  int64_t window() const override;
  void LookAhead(Positions positions, const RunContext& context) override;

  // Null if nothing of this table is kept.
  DecodedPtr Find(int64_t number) const {
    const auto found = tables_.find(number);
    return found == tables_.end() ? nullptr : found->second;
  }
  // Learns the size of rows from a completely decoded table. Returns whether the table is kept.
  bool Offer(int64_t number, const DecodedPtr& table);

 private:
  bool Fits() const;
  void Learn(const DecodedTable& table) {
    seen_bytes_ += static_cast<double>(table.bytes());
    seen_rows_ += static_cast<double>(table.count());
  }
  double RowBytes() const { return seen_bytes_ / seen_rows_; }

  const TableRowsDataset& owner_;
  std::map<int64_t, DecodedPtr> tables_;
  int64_t bytes_ = 0;
  int64_t limit_ = 0;
  bool too_large_ = false;  // the tables were found not to fit
  double seen_bytes_ = 0;   // of the tables that were decoded, and their rows
  double seen_rows_ = 0;
};

class TableRowsDataset final : public Dataset, public RandomAccess, public DecodedGroups {
 public:
  // `sizes`: the number of rows of each table, if known.
  TableRowsDataset(std::string stage, ElementSpec spec, std::optional<std::vector<int64_t>> sizes)
      : stage_(std::move(stage)), spec_(std::move(spec)), known_(sizes.has_value()) {
    if (!known_) return;
    firsts_.push_back(0);
    for (int64_t size : *sizes) firsts_.push_back(firsts_.back() + size);
  }
  int64_t cardinality() const override {
    return known_ ? firsts_.back() : input().cardinality() == 0 ? 0 : kUnknown;
  }
  MaybeSpec spec() const override { return spec_; }
  bool has_random_access() const override { return known_; }
  const std::string& stage() const { return stage_; }
  const ElementSpec& row_spec() const { return spec_; }

  std::unique_ptr<DecodedRows> NewRows() const override {
    return std::make_unique<KeptTables>(*this);
  }

  Step At(int64_t index, const RunContext& context) const override {
    const int64_t number = TableOf(index);
    const int64_t row = index - first(number);
    KeptTables* const kept = KeptFor(context);
    DecodedPtr table = Held(number, row, kept);
    if (!table) {
      auto decoded = Decoded(number, context);
      if (auto* error = std::get_if<Error>(&decoded)) return std::move(*error);
      table = std::get<DecodedPtr>(std::move(decoded));
      Keep(number, table, kept);
    }
    const auto found = table->Find(row);
    if (!found) return Changed(number);
    Element element = found->batch->Row(found->row);
    element.origin = table->OriginOf(row);
    return element;
  }

  // Decodes each table once.
  Block Gather(const Positions& positions, const RunContext& context) const override;

  // The number of the table that contains this row.
  int64_t TableOf(int64_t row) const {
    const auto after = std::upper_bound(firsts_.begin(), firsts_.end(), row);
    return after - firsts_.begin() - 1;
  }
  int64_t tables() const { return static_cast<int64_t>(firsts_.size()) - 1; }
  int64_t first(int64_t number) const { return firsts_[static_cast<size_t>(number)]; }

  // A decoded table, or the error.
  std::variant<DecodedPtr, Error> Decoded(int64_t number, const RunContext& context) const {
    Step step = InputAt(*this, number, context);
    if (auto* error = std::get_if<Error>(&step)) return std::move(*error);
    auto* element = std::get_if<Element>(&step);
    if (!element) return Changed(number);
    auto table = std::make_shared<DecodedTable>();
    table->batches = Open(*element, number);
    if (!table->batches.empty()) table->origin = table->batches.front().origins.first;
    return DecodedPtr(std::move(table));
  }
  // Some rows of a table.
  DecodedPtr Part(const DecodedTable& of, std::vector<int64_t> rows) const {
    std::vector<TableRow> found;
    found.reserve(rows.size());
    for (int64_t row : rows) found.push_back(of.Find(row).value());
    auto part = std::make_shared<DecodedTable>();
    part->batches.push_back(GatherTableRows(spec_, found));
    part->rows = std::move(rows);
    part->origin = of.origin;
    return part;
  }

  // The rows of table number `number`.
  Batches Open(const Element& element, int64_t number) const {
    EnsureAttached();
    auto* fetched = static_cast<PyObject*>(element.leaves[0].objects()[0]);
    PyRef file = PyRef::Steal(PyObject_GetAttrString(fetched, "file"));
    PyRef table = PyRef::Steal(PyObject_GetAttrString(fetched, "table"));
    Origin origin;
    std::string path;
    if (!file || !table || !TextToBytes(file.get(), &path)) throw CurrentPythonError();
    origin.file = std::make_shared<const std::string>(std::move(path));
    origin.key = element.origin.key << kRowBits;
    if (known_) origin.index = firsts_[static_cast<size_t>(number)];
    Table rows = [&] {
      try {
        return TableOfArrow(table.get(), stage_);
      } catch (Error& error) {
        throw error.At(origin);
      }
    }();
    if (rows.spec != spec_) {
      throw Error(ErrorKind::kData,
                  "{}: rows of {} were expected, as the first file has them, got {} in {}", stage_,
                  spec_.ToString(), rows.spec.ToString(), *origin.file)
          .At(origin);
    }
    int64_t count = 0;
    for (Block& batch : rows.batches) {
      batch.origins.first = origin;
      origin.key += static_cast<uint64_t>(batch.rows);
      if (known_) origin.index += batch.rows;
      count += batch.rows;
    }
    const auto first = static_cast<size_t>(number);
    if (known_ && count != firsts_[first + 1] - firsts_[first]) throw Changed(number).At(origin);
    return std::move(rows.batches);
  }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override;

 private:
  static constexpr int kRowBits = 40;  // low bits of a key; the others hold the table number

  Error Changed(int64_t number) const {
    return {ErrorKind::kData,
            "{}: table {} has another number of rows than when the dataset was made; make the "
            "dataset again when its files change",
            stage_, number};
  }

  // The tables kept for the stage that requests rows; null if it does not look ahead.
  KeptTables* KeptFor(const RunContext& context) const {
    if (!context.lookahead) return nullptr;
    return static_cast<KeptTables*>(context.lookahead->RowsOf(*this));
  }
  // A table in memory that has the row, or null.
  DecodedPtr Held(int64_t number, int64_t row, const KeptTables* kept) const {
    if (DecodedPtr table = kept ? kept->Find(number) : nullptr; table && table->Find(row)) {
      return table;
    }
    std::lock_guard lock(mutex_);
    for (auto& last : last_) {
      if (last.second && last.first == number) return last.second;
    }
    return nullptr;
  }
  void Keep(int64_t number, const DecodedPtr& table, KeptTables* kept) const {
    if (kept && kept->Offer(number, table)) return;
    std::lock_guard lock(mutex_);
    std::swap(last_[0], last_[1]);
    last_[0] = {number, table};
  }

  const std::string stage_;  // the name the user called
  const ElementSpec spec_;
  const bool known_;
  std::vector<int64_t> firsts_;  // the first row of each table, then the total number of rows
  mutable std::mutex mutex_;     // a leaf lock; protects `last_`
  // The two whole tables that were decoded last.
  mutable std::array<std::pair<int64_t, DecodedPtr>, 2> last_;
};

Block TableRowsDataset::Gather(const Positions& positions, const RunContext& context) const {
  KeptTables* const kept = KeptFor(context);
  std::vector<size_t> order(positions.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return positions[i]; });
  std::vector<TableRow> rows(positions.size());
  std::vector<Origin> origins(positions.size());
  std::vector<DecodedPtr> held;  // keeps the tables of `rows` alive
  size_t sound = positions.size();
  std::optional<Error> error;  // at position number `sound`
  for (size_t begin = 0, end; begin < order.size(); begin = end) {
    const int64_t number = TableOf(positions[order[begin]]);
    const int64_t first_row = first(number);
    DecodedPtr table;
    std::vector<int64_t> numbers;
    for (end = begin; end < order.size() && TableOf(positions[order[end]]) == number; ++end) {
      const int64_t row = positions[order[end]] - first_row;
      if (numbers.empty() || numbers.back() != row) numbers.push_back(row);
    }
    DecodedPtr has = Held(number, numbers.front(), kept);
    const bool complete = has && std::ranges::all_of(numbers, [&](int64_t row) {
                            return has->Find(row).has_value();
                          });
    if (complete) {
      table = std::move(has);
    } else {
      auto decoded = [&]() -> std::variant<DecodedPtr, Error> {
        try {
          return Decoded(number, context);
        } catch (const Error& failure) {
          return failure;
        }
      }();
      if (auto* failure = std::get_if<Error>(&decoded)) {
        if (failure->transient()) throw *failure;
        const auto at = *std::min_element(order.begin() + static_cast<std::ptrdiff_t>(begin),
                                          order.begin() + static_cast<std::ptrdiff_t>(end));
        if (at < sound) {
          sound = at;
          error = *failure;
        }
        continue;
      }
      table = std::get<DecodedPtr>(std::move(decoded));
      if (!kept || !kept->Offer(number, table)) table = Part(*table, std::move(numbers));
    }
    for (size_t i = begin; i < end; ++i) {
      const int64_t row = positions[order[i]] - first_row;
      rows[order[i]] = table->Find(row).value();
      origins[order[i]] = table->OriginOf(row);
    }
    held.push_back(std::move(table));
  }
  rows.resize(sound);
  Block block;
  if (sound > 0) {
    block = GatherTableRows(spec_, rows);
    for (size_t i = 0; i < sound; ++i) {
      block.origins.Add(static_cast<int64_t>(i), std::move(origins[i]));
    }
    if (block.ragged()) block.Separate();
  }
  block.error = std::move(error);
  return block;
}

bool KeptTables::Fits() const {
  const double all = RowBytes() * static_cast<double>(owner_.cardinality());
  return !too_large_ && all <= static_cast<double>(limit_);
}

bool KeptTables::Offer(int64_t number, const DecodedPtr& table) {
  if (table->count() == 0) return false;
  Learn(*table);
  const int64_t bytes = table->bytes();
  too_large_ = !Fits() || bytes_ + bytes > limit_;
  if (too_large_) return false;
  tables_[number] = table;
  bytes_ += bytes;
  return true;
}

int64_t KeptTables::window() const {
  if (seen_rows_ == 0 || Fits()) return 0;
  // A table is decoded whole before its rows are copied.
  const double rows = static_cast<double>(limit_) / (RowBytes() + sizeof(int64_t));
  const double table =
      static_cast<double>(owner_.cardinality()) / static_cast<double>(owner_.tables());
  return static_cast<int64_t>(std::max({rows - table, rows / 4, 1.0}));
}

void KeptTables::LookAhead(Positions positions, const RunContext& context) {
  std::ranges::sort(positions);
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  too_large_ = true;
  tables_.clear();
  bytes_ = 0;
  for (size_t begin = 0, end; begin < positions.size(); begin = end) {
    if (context.cancel.cancelled()) throw Error(ErrorKind::kCancelled, "");
    const int64_t number = owner_.TableOf(positions[begin]);
    std::vector<int64_t> rows;
    for (end = begin; end < positions.size() && owner_.TableOf(positions[end]) == number; ++end) {
      rows.push_back(positions[end] - owner_.first(number));
    }
    try {
      auto decoded = owner_.Decoded(number, context);
      if (auto* error = std::get_if<Error>(&decoded)) throw std::move(*error);
      const DecodedPtr table = std::get<DecodedPtr>(std::move(decoded));
      Learn(*table);
      DecodedPtr& part = tables_[number] = owner_.Part(*table, std::move(rows));
      bytes_ += part->bytes();
    } catch (const Error& error) {
      if (error.transient()) throw;
      // Otherwise it is raised when one of these rows is requested.
    }
  }
}

class TableRowsIterator final : public SplitIterator {
 public:
  TableRowsIterator(std::shared_ptr<const TableRowsDataset> data, IteratorPtr input, bool ragged)
      : SplitIterator(std::move(input)), data_(std::move(data)), ragged_(ragged) {}

 protected:
  std::vector<Block> Split(Element element, int64_t index) override {
    return data_->Open(element, index);
  }
  Block DoNextBlock(int64_t max_rows) override {
    Block block = SplitIterator::DoNextBlock(max_rows);
    if (!ragged_ && block.ragged()) block.Separate();
    return block;
  }

 private:
  std::shared_ptr<const TableRowsDataset> data_;
  const bool ragged_;  // its consumer accepts ragged blocks
};

IteratorPtr TableRowsDataset::MakeIterator(const RunContext& context) const {
  return std::make_unique<TableRowsIterator>(
      std::static_pointer_cast<const TableRowsDataset>(shared_from_this()),
      StartInput(context.Replayed()), context.ragged);
}

const RegisterDataset table_rows_stage(
    "table_rows", {.foreign = true, .arguments = {{"schema", ArgumentForm::kTable}}},
    [](const std::vector<DatasetPtr>&, const Args& args) -> std::shared_ptr<Dataset> {
      std::optional<std::vector<int64_t>> sizes;
      if (args.Has("sizes")) sizes = args.Ints("sizes");
      auto schema = std::static_pointer_cast<const Table>(args.Object("schema"));
      return std::make_shared<TableRowsDataset>(args.owner(), schema->spec, std::move(sizes));
    });

}  // namespace
}  // namespace penstock
