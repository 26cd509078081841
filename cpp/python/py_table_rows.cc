// table_rows: the rows of tables that the input fetches one after the other.
#include <algorithm>
#include <array>
#include <mutex>

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

class TableRowsDataset final : public Dataset, public RandomAccess {
 public:
  // `sizes`: the number of rows of each table, where they are known.
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

  Step At(int64_t index, const RunContext& context) const override {
    const auto after = std::upper_bound(firsts_.begin(), firsts_.end(), index);
    const int64_t number = after - firsts_.begin() - 1;
    std::shared_ptr<const Batches> batches = Kept(number);
    if (!batches) {
      Step step = InputAt(*this, number, context);
      auto* element = std::get_if<Element>(&step);
      if (!element) return step;
      batches = std::make_shared<const Batches>(Open(*element, number));
      Keep(number, batches);
    }
    int64_t row = index - firsts_[static_cast<size_t>(number)];
    for (const Block& batch : *batches) {
      if (row < batch.rows) return batch.Row(row);
      row -= batch.rows;
    }
    return Changed(number);
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
  static constexpr int kRowBits = 40;  // of a key; the others have the number of the table

  Error Changed(int64_t number) const {
    return {ErrorKind::kData,
            "{}: table {} has another number of rows than when the dataset was made; make the "
            "dataset again when its files change",
            stage_, number};
  }

  std::shared_ptr<const Batches> Kept(int64_t number) const {
    std::lock_guard lock(mutex_);
    for (auto& kept : kept_) {
      if (kept.second && kept.first == number) return kept.second;
    }
    return nullptr;
  }
  void Keep(int64_t number, std::shared_ptr<const Batches> batches) const {
    std::lock_guard lock(mutex_);
    std::swap(kept_[0], kept_[1]);
    kept_[0] = {number, std::move(batches)};
  }

  const std::string stage_;  // what the user called
  const ElementSpec spec_;
  const bool known_;
  std::vector<int64_t> firsts_;  // the first row of each table, and the number of all rows
  mutable std::mutex mutex_;     // a leaf lock over the cache below
  // The tables that At has opened last.
  mutable std::array<std::pair<int64_t, std::shared_ptr<const Batches>>, 2> kept_;
};

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
  const bool ragged_;  // its consumer takes such blocks
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
