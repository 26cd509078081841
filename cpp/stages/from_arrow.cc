// from_arrow: the rows of a table in memory or in mapped files, with random access.
#include <algorithm>
#include <vector>

#include "data/table.h"
#include "engine/random_access.h"
#include "engine/registry.h"

namespace penstock {
namespace {

// The rows of a table, or only the chosen ones; lists are ragged columns.
class TableRows final : public Indexed {
 public:
  TableRows(const Table& table, std::vector<int64_t> chosen, bool some)
      : table_(table), chosen_(std::move(chosen)), some_(some) {
    for (const Block& batch : table.batches) {
      firsts_.push_back(total_);
      total_ += batch.rows;
      ragged_ = ragged_ || batch.ragged();
    }
    for (int64_t row : chosen_) {
      if (row < 0 || row >= total_) {
        throw Error(ErrorKind::kInvalidArgument,
                    "from_arrow: rows must be from 0 to {}, the table has {}; got {}", total_ - 1,
                    total_, row);
      }
    }
  }

  int64_t size() const override { return some_ ? static_cast<int64_t>(chosen_.size()) : total_; }
  bool ragged() const { return ragged_; }

  Block Rows(int64_t first, int64_t count) const override {
    if (!some_ && count > 0) {
      const TableRow begin = At(first);
      if (begin.row + count <= begin.batch->rows) {
        Block block = begin.batch->Slice(begin.row, count);
        block.origins = RowOrigins::From(first);
        return block;
      }
    }
    std::vector<TableRow> rows(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) rows[static_cast<size_t>(i)] = At(first + i);
    Block block = GatherTableRows(table_.spec, rows);
    block.origins = RowOrigins::From(first);
    return block;
  }

  Block Gather(const int64_t* indices, int64_t count) const override {
    std::vector<TableRow> rows(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) rows[static_cast<size_t>(i)] = At(indices[i]);
    Block block = GatherTableRows(table_.spec, rows);
    block.origins.keys.assign(indices, indices + count);
    return block;
  }

 private:
  TableRow At(int64_t index) const {
    if (some_) index = chosen_[static_cast<size_t>(index)];
    if (firsts_.size() == 1) return {table_.batches.data(), index};
    auto after = std::upper_bound(firsts_.begin(), firsts_.end(), index);
    const auto batch = static_cast<size_t>(after - firsts_.begin()) - 1;
    return {&table_.batches[batch], index - firsts_[batch]};
  }

  const Table& table_;
  const std::vector<int64_t> chosen_;
  const bool some_;              // only the chosen rows
  std::vector<int64_t> firsts_;  // the index of the first row of each batch
  int64_t total_ = 0;
  bool ragged_ = false;
};

// For consumers without ragged support: separates rows that differ in size.
class SeparateRows final : public Indexed {
 public:
  explicit SeparateRows(const TableRows& rows) : rows_(rows) {}
  int64_t size() const override { return rows_.size(); }
  Block Rows(int64_t first, int64_t count) const override {
    return Taken(rows_.Rows(first, count));
  }
  Block Gather(const int64_t* indices, int64_t count) const override {
    return Taken(rows_.Gather(indices, count));
  }

 private:
  Block Taken(Block block) const {
    if (rows_.ragged()) block.Separate();
    return block;
  }

  const TableRows& rows_;
};

class ArrowDataset final : public Dataset {
 public:
  ArrowDataset(std::shared_ptr<const Table> table, std::vector<int64_t> chosen, bool some)
      : table_(std::move(table)), rows_(*table_, std::move(chosen), some), separate_(rows_) {}
  int64_t cardinality() const override { return rows_.size(); }
  MaybeSpec spec() const override { return table_->spec; }
  const Indexed* indexed() const override { return &separate_; }

 protected:
  IteratorPtr MakeIterator(const RunContext& context) const override {
    if (context.ragged) return MakeRowIterator(shared_from_this(), rows_);
    return MakeRowIterator(shared_from_this(), separate_);
  }

 private:
  std::shared_ptr<const Table> table_;
  const TableRows rows_;
  const SeparateRows separate_;
};

const RegisterDataset from_arrow_stage(
    "from_arrow", {.arguments = {{"table", ArgumentForm::kTable}, {"rows", ArgumentForm::kValue}}},
    [](const std::vector<DatasetPtr>&, const Args& args) -> std::shared_ptr<Dataset> {
      auto table = std::static_pointer_cast<const Table>(args.Object("table"));
      std::vector<int64_t> chosen;
      if (args.Has("rows")) {
        const Tensor& numbers = args.Nested("rows").leaves.at(0);
        const auto* first = reinterpret_cast<const int64_t*>(numbers.data());
        chosen.assign(first, first + numbers.elements());
      }
      return std::make_shared<ArrowDataset>(std::move(table), std::move(chosen), args.Has("rows"));
    });

}  // namespace
}  // namespace penstock
